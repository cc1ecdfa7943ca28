package io.pyqbeast;

/** Where a point lies on the z-order curve, to 63 bits: the order of the rows inside a file. */
public final class ZOrder implements PointFunction {
  private static final long serialVersionUID = 1L;
  private static final int BITS = 63;

  private final int dimensions;
  private final int levels;

  /** For each byte, its bits with room for those of the other dimensions between them. */
  private final long[] spread = new long[256];

  public ZOrder(int dimensions) {
    this.dimensions = dimensions;
    this.levels = BITS / dimensions;
    for (int value = 0; value < spread.length; value++) {
      for (int bit = 0; bit < 8 && bit < levels; bit++) {
        spread[value] |= ((value >>> bit) & 1L) << (bit * dimensions);
      }
    }
  }

  @Override
  public long apply(double[] point, int weight) {
    long cells = 1L << levels;
    long code = 0;
    for (double x : point) {
      long cell = Math.min((long) (Math.min(Math.max(x, 0.0), 1.0) * cells), cells - 1);
      long bits = 0;
      for (int from = 0; from < levels; from += 8) {
        bits |= spread[(int) (cell >>> from) & 0xff] << (from * dimensions);
      }
      code = (code << 1) | bits;
    }
    return code;
  }
}
