"""Tables, plots and pages made from the analysed tables and nothing else."""
