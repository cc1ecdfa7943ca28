package io.pyqbeast;

import java.io.Serializable;

/** A function of a row's point in the unit cube and of its weight. */
public interface PointFunction extends Serializable {
  /**
   * @param point one coordinate a dimension, not kept by the callee
   * @param weight the row's weight
   */
  long apply(double[] point, int weight);
}
