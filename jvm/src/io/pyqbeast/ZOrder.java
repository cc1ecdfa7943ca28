package io.pyqbeast;

/** Where a point lies on the z-order curve, to 63 bits: the order of the rows inside a file. */
public final class ZOrder implements PointFunction {
  private static final long serialVersionUID = 1L;
  private static final int BITS = 63;

  @Override
  public long apply(double[] point, int weight) {
    int levels = BITS / point.length;
    long code = 0;
    long[] cells = new long[point.length];
    for (int i = 0; i < point.length; i++) {
      double x = Math.min(Math.max(point[i], 0.0), 1.0);
      cells[i] = Math.min((long) (x * (1L << levels)), (1L << levels) - 1);
    }
    for (int level = levels - 1; level >= 0; level--) {
      for (long cell : cells) {
        code = (code << 1) | ((cell >>> level) & 1L);
      }
    }
    return code;
  }
}
