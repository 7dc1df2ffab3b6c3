"""JobSet and its gangs: what the manifest asks for (``jobset``), and the Workload made for it (``generated``)."""
