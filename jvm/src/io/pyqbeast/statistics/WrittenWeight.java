package io.pyqbeast.statistics;

import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.spark.ScalaInterop;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.delta.DeltaColumnMapping;
import org.apache.spark.sql.delta.NoMapping$;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import scala.Option;

/**
 * The weight of a row that is being written, as a sample will compute it later: the hash of the values that go to the
 * file, in the columns that the table will have. The weight by which the row was laid out does not enter.
 */
public final class WrittenWeight implements Serializable {
  private static final long serialVersionUID = 1L;

  private final List<Expression> hash;

  private WrittenWeight(Expression hash) {
    this.hash = List.of(hash);
  }

  /**
   * @param table its metadata once the rows are in it
   * @param columns of the rows, by their names in the files
   * @return null if the weight cannot be known: a hashed column is missing, or has another type than readers will use
   */
  public static WrittenWeight of(Metadata table, List<Attribute> columns) {
    List<Expression> hashed = new ArrayList<>();
    for (String name : HashedColumns.of(table).all()) {
      Option<Object> place = table.schema().getFieldIndex(name);
      Expression value = place.isEmpty() ? null : valueOf(table.schema().apply(name), table, columns);
      if (value == null) {
        return null;
      }
      hashed.add(value);
    }
    return hashed.isEmpty() ? null : new WrittenWeight(HashedColumns.weight(hashed));
  }

  private static Expression valueOf(StructField field, Metadata table, List<Attribute> columns) {
    boolean mapped = table.columnMappingMode() != NoMapping$.MODULE$;
    String name = mapped ? DeltaColumnMapping.getPhysicalName(field) : field.name();
    for (int i = 0; i < columns.size(); i++) {
      Attribute column = columns.get(i);
      if (column.name().equals(name)) {
        boolean asRead = DataType.equalsStructurally(column.dataType(), field.dataType(), true);
        return asRead ? new BoundReference(i, column.dataType(), true) : null;
      }
    }
    return null;
  }

  /** The computation in one task. */
  ToIntFunction<InternalRow> ofRow() {
    UnsafeProjection weight = UnsafeProjection$.MODULE$.create(ScalaInterop.seq(hash));
    return row -> weight.apply(row).getInt(0);
  }
}
