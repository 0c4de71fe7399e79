"""``python -m atomlearn`` is the command ``atomlearn``."""

import sys

from ._command import main

sys.exit(main())
