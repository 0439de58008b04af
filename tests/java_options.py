"""Settings of Spark sessions that run for some minutes of tests: how their Java compiles."""

CHEAP_OPTIMIZATION = {
    "spark.driver.extraJavaOptions": " ".join(
        f"-XX:{option}"
        for option in (
            "TieredStopAtLevel=4",
            "FreqInlineSize=50",
            "MaxInlineLevel=3",
            "InlineSmallCode=800",
            "LoopOptsCount=5",
            "LoopUnrollLimit=0",
            "-DoEscapeAnalysis",
        )
    )
}
"""Both compilers, of which the optimizing one puts few of the methods that a method calls into its code. With its
defaults it takes a quarter of the CPU time in the minutes of the tests; with these options a third of that, for code
that is no slower. The tests of the application's tables took 392 s of CPU time instead of 500 s; those of the pipeline
431 s instead of 454 s with the quick compiler alone."""
