package io.pyqbeast;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A {@link PointFunction} as a Spark expression: its children are the coordinates (doubles) and, last, the weight (int).
 * None of them is ever null. As an expression with generated code it costs no boxing, unlike a user-defined function.
 */
public final class OnPoint extends Expression implements Serializable {
  private static final long serialVersionUID = 1L;

  private final PointFunction function;
  private final Seq<Expression> children;

  public OnPoint(PointFunction function, Seq<Expression> children) {
    this.function = function;
    this.children = children;
  }

  @Override
  public Object eval(InternalRow row) {
    List<Expression> inputs = Scala.list(children);
    double[] point = new double[inputs.size() - 1];
    for (int i = 0; i < point.length; i++) {
      point[i] = (Double) inputs.get(i).eval(row);
    }
    return function.apply(point, (Integer) inputs.get(point.length).eval(row));
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    String target = context.addReferenceObj("pointFunction", function, PointFunction.class.getName());
    int dimensions = children.size() - 1;
    String point =
        context.addMutableState(
            "double[]", "point", Scala.function(name -> name + " = new double[" + dimensions + "];"), false, true);
    StringBuilder code = new StringBuilder();
    List<ExprCode> inputs = new ArrayList<>();
    for (Expression child : Scala.list(children)) {
      ExprCode input = child.genCode(context);
      inputs.add(input);
      code.append(input.code().toString()).append('\n');
    }
    for (int i = 0; i < dimensions; i++) {
      code.append(point).append('[').append(i).append("] = ").append(inputs.get(i).value()).append(";\n");
    }
    code.append("long ").append(result.value()).append(" = ").append(target).append(".apply(").append(point);
    code.append(", ").append(inputs.get(dimensions).value()).append(");\n");
    return result.copy(Blocks.of(code.toString()), Blocks.never(), result.value());
  }

  @Override
  public DataType dataType() {
    return DataTypes.LongType;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public Seq<Expression> children() {
    return children;
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new OnPoint(function, newChildren);
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? function : children;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof OnPoint;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof OnPoint that && function == that.function && children.equals(that.children);
  }

  @Override
  public int hashCode() {
    return 31 * System.identityHashCode(function) + children.hashCode();
  }

  @Override
  public String prettyName() {
    return "on_point";
  }
}
