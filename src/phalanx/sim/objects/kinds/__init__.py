"""How workloads of every kind are drawn and written: one function each, in the table ``table.ROWS``."""
