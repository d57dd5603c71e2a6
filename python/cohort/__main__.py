import sys

from cohort.commands import main

sys.exit(main())
