//! Straight lines through points.

/// Slope of the least-squares line through the logarithms of both coordinates.
pub fn slope(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let logs: Vec<(f64, f64)> = points.map(|(x, y)| (libm::log(x), libm::log(y))).collect();
    let n = logs.len() as f64;
    let (mean_x, mean_y) = (
        logs.iter().map(|p| p.0).sum::<f64>() / n,
        logs.iter().map(|p| p.1).sum::<f64>() / n,
    );
    let above: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let below: f64 = logs.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_has_its_exponent_as_slope() {
        // Goal: y = 3 x^-1.7 has slope -1.7, and a bend above the line's middle does not move it.
        let power = |x: f64| 3.0 * libm::pow(x, -1.7);
        assert!((slope([0.1, 1.0, 7.0, 100.0].map(|x| (x, power(x))).into_iter()) + 1.7).abs() < 1e-12);
        assert!((slope([(0.1, power(0.1)), (1.0, 99.0), (10.0, power(10.0))].into_iter()) + 1.7).abs() < 1e-12);
    }
}
