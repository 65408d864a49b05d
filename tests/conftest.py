"""Settings of Hypothesis for all tests: the same examples everywhere, and no limit on the first, compiling one."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "mbsim",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("mbsim")
