"""The command line: wires the rooms together.

Lives here: commands, reading of files, settings (read once, then one Policy value), tables, colour, exit codes.
May import: every room except testing.
Will never: decide anything; an answer that the SDK cannot give is in the wrong place here.
"""
