"""Recordings: the inputs and the decisions of an engine, in files; and the replay of a recording.

The engine is pure. So its first state, the calls of `apply`, `tick` and `schedule_one` with their times, and the seed
determine every decision. A recording holds these inputs and the decisions.

    RecordedScheduler -> RecordingThread -> RecordingWriter -> segment files -> RecordedRun -> Replay

The objects of a recording are those that the engine reads. Therefore environment variables, commands and annotations of
pods are in no recording.
"""
