package io.pyqbeast.expressions;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

/** The position of a number in an ascending list of two or more, interpolated between its neighbours. */
public final class NumericQuantiles implements CoordinateFunction {
  private static final long serialVersionUID = 1L;

  private final double[] quantiles;

  /** @param quantiles a JSON array of numbers */
  public NumericQuantiles(String quantiles) throws JsonProcessingException {
    this.quantiles = new ObjectMapper().readValue(quantiles, double[].class);
  }

  @Override
  public double of(Object value) {
    return of(((Number) value).doubleValue());
  }

  /** NaN is larger than every number. */
  public double of(double value) {
    if (Double.isNaN(value)) {
      return 1.0;
    }
    int last = quantiles.length - 1;
    int found = Search.search(quantiles.length, i -> quantiles[i] < value ? -1 : quantiles[i] > value ? 1 : 0);
    if (found >= 0) {
      return (double) found / last;
    }
    int above = -1 - found;
    if (above == 0) {
      return 0.0;
    }
    if (above > last) {
      return 1.0;
    }
    double below = quantiles[above - 1];
    return ((above - 1) + (value - below) / (quantiles[above] - below)) / last;
  }
}
