# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the tests of all or the given modules, and prints a line per test."""

import sys
import time
import unittest


class Lines(unittest.TextTestResult):
    """Prints a line per test with the reason of a skip, and counts the results."""

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def line(self, mark, test):
        took = time.monotonic() - self.began
        print(f"  {mark} {test.id()} ({took:.1f} s)", flush=True)

    def addSuccess(self, test):
        self.passed = getattr(self, "passed", 0) + 1
        self.line("✓", test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.line("✗", test)
        print(self._exc_info_to_string(error, test))

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.addFailure(subtest, error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped: {reason}")


def main():
    loader = unittest.TestLoader()
    names = sys.argv[1:]
    suite = loader.loadTestsFromNames(names) if names else loader.discover(".")
    with open("/dev/null", "w", encoding="utf-8") as nothing:
        runner = unittest.TextTestRunner(stream=nothing, resultclass=Lines, verbosity=0)
        result = runner.run(suite)
    failed = len(result.failures)
    passed = getattr(result, "passed", 0)
    print(f"{passed} passed, {failed} failed, {len(result.skipped)} skipped")
    sys.exit(1 if failed or not passed else 0)


main()
