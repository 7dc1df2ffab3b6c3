"""Speed and completeness at size: workloads as data, thresholds as ratios within one run."""
