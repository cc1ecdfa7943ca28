package io.pyqbeast.expressions;

import com.fasterxml.jackson.core.io.NumberOutput;
import io.pyqbeast.spark.GeneratedCode;
import io.pyqbeast.spark.ScalaInterop;
import java.io.Serializable;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * The coordinate of a value in a hashed dimension: Scala's hash of the bytes of its text, as a share of 2^31 - 1.
 *
 * <p>The text of a double or float is the shortest that reads back as the same number, which is what Java prints from
 * version 19 on. Older ones print a needless digit for one double in two hundred and one float in ten, and a row must not
 * lie in another cube because another Java wrote it. So the text is made by Jackson, which prints the same under all.
 */
public final class HashCoordinate extends Expression implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Expression child;
  private final double ofNull;

  /** @param ofNull the coordinate of null */
  public HashCoordinate(Expression child, double ofNull) {
    this.child = child;
    this.ofNull = ofNull;
  }

  public static double of(UTF8String text) {
    return ofBytes(text.getBytes());
  }

  public static double of(Decimal number) {
    BigDecimal exact = number.toJavaBigDecimal();
    return ofText(exact.toString());
  }

  public static double of(long number) {
    return ofText(Long.toString(number));
  }

  public static double of(int number) {
    return ofText(Integer.toString(number));
  }

  public static double of(double number) {
    return ofText(NumberOutput.toString(number, true));
  }

  public static double of(float number) {
    return ofText(NumberOutput.toString(number, true));
  }

  public static double of(boolean truth) {
    return ofText(Boolean.toString(truth));
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

  @Override
  public Object eval(InternalRow row) {
    Object value = child.eval(row);
    if (value == null) {
      return ofNull;
    }
    if (value instanceof Decimal number) {
      return of(number);
    }
    if (value instanceof Double number) {
      return of(number.doubleValue());
    }
    if (value instanceof Float number) {
      return of(number.floatValue());
    }
    return value instanceof UTF8String text ? of(text) : ofText(value.toString());
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    ExprCode value = child.genCode(context);
    String code =
        value.code() + "\ndouble " + result.value() + " = " + value.isNull() + " ? " + ofNull + " : "
            + HashCoordinate.class.getName() + ".of(" + value.value() + ");\n";
    return result.copy(GeneratedCode.of(code), GeneratedCode.never(), result.value());
  }

  @Override
  public DataType dataType() {
    return DataTypes.DoubleType;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public Seq<Expression> children() {
    return ScalaInterop.seq(List.of(child));
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new HashCoordinate(newChildren.head(), ofNull);
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? child : ofNull;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof HashCoordinate;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof HashCoordinate that && child.equals(that.child) && ofNull == that.ofNull;
  }

  @Override
  public int hashCode() {
    return 31 * child.hashCode() + Double.hashCode(ofNull);
  }
}
