"""New plug-ins: a file that works, its entry point and its test, to start from (``quaver new``)."""
