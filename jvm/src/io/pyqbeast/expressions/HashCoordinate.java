package io.pyqbeast.expressions;

import com.fasterxml.jackson.core.io.NumberOutput;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The coordinate of a value in a hashed dimension: Scala's hash of the bytes of its text, as a share of 2^31 - 1.
 *
 * <p>The text of a double or float is the shortest that reads back as the same number. Java prints this text from
 * version 19 on; older versions print a needless digit for one double in two hundred and one float in ten. A row must
 * not lie in another cube because another Java wrote it, so Jackson prints the text, the same in all versions.
 */
public final class HashCoordinate implements CoordinateFunction {
  private static final long serialVersionUID = 1L;

  @Override
  public double of(Object value) {
    if (value instanceof UTF8String text) {
      return of(text);
    }
    if (value instanceof Decimal number) {
      return of(number);
    }
    if (value instanceof Double number) {
      return of(number.doubleValue());
    }
    return value instanceof Float number ? of(number.floatValue()) : ofText(value.toString());
  }

  public double of(UTF8String text) {
    return ofBytes(text.getBytes());
  }

  public double of(Decimal number) {
    return ofText(number.toJavaBigDecimal().toString());
  }

  public double of(long number) {
    return ofText(Long.toString(number));
  }

  public double of(double number) {
    return ofText(NumberOutput.toString(number, true));
  }

  public double of(float number) {
    return ofText(NumberOutput.toString(number, true));
  }

  private static double ofText(String text) {
    return ofBytes(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Every byte is mixed as a word of its own, sign and all; a textbook Murmur3 gives other numbers. */
  private static double ofBytes(byte[] bytes) {
    int h = 0x3c074a61;
    for (byte b : bytes) {
      int k = Integer.rotateLeft(b * 0xcc9e2d51, 15) * 0x1b873593;
      h = Integer.rotateLeft(h ^ k, 13) * 5 + 0xe6546b64;
    }
    h ^= bytes.length;
    h = (h ^ (h >>> 16)) * 0x85ebca6b;
    h = (h ^ (h >>> 13)) * 0xc2b2ae35;
    h ^= h >>> 16;
    return (h & 0x7fffffff) / 2147483647.0;
  }
}
