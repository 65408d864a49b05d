"""Alarms of a run: checks of its accuracy while it runs, each relative to a scale of the scene.

To add an alarm, add an entry to `RUN_ALARMS` in `catalogue.py`: a threshold, functions that return the value and the
report from the record of the run, and a remedy.

    contract    alarms, the settings that they depend on, and the messages that they raise
    record      largest values of a run, from its samples and reports
    phases      errors of angles, and largest vectors of output instants
    remedies    remedies with numbers
    catalogue   the alarms
    monitor     evaluation of the alarms at the end of a run, and of many runs at once
"""
