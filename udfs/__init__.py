"""What runs on executors: pure functions, models, and thin pandas-UDF wrappers around them."""
