"""WHY, for people: a Reason becomes one line, a full text or JSON.

Lives here: rendering, and the reference page of all reasons.
May import: model. May change: nothing.
Will never: decide. An ``if`` here changes words, never an outcome; ways out are searched elsewhere and only
printed here.
"""
