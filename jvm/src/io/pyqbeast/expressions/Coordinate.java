package io.pyqbeast.expressions;

import io.pyqbeast.spark.ScalaInterop;
import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** The coordinate of a value by a {@link CoordinateFunction}; null for null. */
final class Coordinate extends Expression implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Expression child;
  private final String name;
  private final String argument;
  private final CoordinateFunction function;

  /**
   * @param name of the function's class in this package
   * @param argument JSON that the function is made of; null for one that is made of nothing
   */
  Coordinate(Expression child, String name, String argument) throws ReflectiveOperationException {
    this(child, name, argument, made(name, argument));
  }

  private Coordinate(Expression child, String name, String argument, CoordinateFunction function) {
    this.child = child;
    this.name = name;
    this.argument = argument;
    this.function = function;
  }

  private static CoordinateFunction made(String name, String argument) throws ReflectiveOperationException {
    Class<?> of = Class.forName(Coordinate.class.getPackageName() + "." + name);
    Object made =
        argument == null
            ? of.getDeclaredConstructor().newInstance()
            : of.getDeclaredConstructor(String.class).newInstance(argument);
    return (CoordinateFunction) made;
  }

  @Override
  public Object eval(InternalRow row) {
    Object value = child.eval(row);
    return value == null ? null : (Object) function.of(value);
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    ExprCode value = child.genCode(context);
    String place = context.addReferenceObj("function", function, function.getClass().getName());
    String code =
        value.code() + "\nboolean " + result.isNull() + " = " + value.isNull() + ";\ndouble " + result.value() + " = "
            + result.isNull() + " ? 0.0 : " + place + ".of(" + value.value() + ");\n";
    Block block = new CodeBlock(ScalaInterop.seq(List.of(code)), ScalaInterop.seq(List.of()));
    return result.copy(block, result.isNull(), result.value());
  }

  @Override
  public DataType dataType() {
    return DataTypes.DoubleType;
  }

  @Override
  public boolean nullable() {
    return child.nullable();
  }

  @Override
  public Seq<Expression> children() {
    return ScalaInterop.seq(List.of(child));
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new Coordinate(newChildren.head(), name, argument, function);
  }

  @Override
  public int productArity() {
    return 3;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? child : n == 1 ? name : argument;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof Coordinate;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Coordinate that
        && child.equals(that.child)
        && name.equals(that.name)
        && Objects.equals(argument, that.argument);
  }

  @Override
  public int hashCode() {
    return Objects.hash(child, name, argument);
  }
}
