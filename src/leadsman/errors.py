"""Every error that leadsman raises on purpose.

LeadsmanError                    what went wrong, where, and what to do next
├── UsageError                   the call's words are off
│   ├── UnknownSetting           a name after --set that no mode has
│   └── UnknownMode              no folder of that name under modes/
├── CaptureError                 nothing to diagnose
├── MissingPart                  an optional part of the installation is not there
├── TemplateError                a sentence of a card or a page asks for a figure that is not there
├── SparkError                   no Spark session could be had
└── LabError                     an experiment could not be set up
    ├── BrokerDidNotStart
    └── ProgramDidNotAnswer
"""

from __future__ import annotations


class LeadsmanError(Exception):
    """The base. `str()` of it is a sentence for the person at the keyboard."""


class UsageError(LeadsmanError):
    """The call's words are off."""


class UnknownSetting(UsageError):
    """A name after --set that no mode has."""


class UnknownMode(UsageError):
    """No folder of that name under modes/."""


class CaptureError(LeadsmanError):
    """Nothing to diagnose."""


class MissingPart(LeadsmanError):
    """An optional part of the installation is not there."""


class TemplateError(LeadsmanError):
    """A template asks for a figure that is not there, or for one in a form that it cannot take."""


class SparkError(LeadsmanError):
    """No Spark session could be had."""


class LabError(LeadsmanError):
    """An experiment could not be set up."""


class BrokerDidNotStart(LabError):
    """A broker was started and did not become ready before its deadline."""


class ProgramDidNotAnswer(LabError):
    """A client program was given a command and did not answer before its deadline."""
