package io.pyqbeast.statistics;

import io.pyqbeast.format.Constants;
import io.pyqbeast.format.IndexedColumns;
import io.pyqbeast.spark.ScalaInterop;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.delta.DeltaColumnMapping;
import org.apache.spark.sql.delta.NoMapping$;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import scala.Option;

/**
 * The weight of a row that is being written, as a sample will compute it: the hash of what is in the file, by the columns
 * that the table has and not by those that the row was laid out by.
 */
public final class WrittenWeight implements Serializable {
  private static final long serialVersionUID = 1L;

  private final List<Expression> hash;

  private WrittenWeight(Expression hash) {
    this.hash = List.of(hash);
  }

  /**
   * @param table as it will be with the rows
   * @param columns of the rows, by their names in the files
   * @return null where a hashed column is not there, or of another type than it is read as: the weight is not known then
   */
  public static WrittenWeight of(Metadata table, List<Attribute> columns) {
    List<Expression> hashed = new ArrayList<>();
    for (String name : IndexedColumns.of(table.configuration())) {
      Option<Object> place = table.schema().getFieldIndex(name);
      Expression value = place.isEmpty() ? null : valueOf(table.schema().apply(name), table, columns);
      if (value == null) {
        return null;
      }
      hashed.add(value);
    }
    return hashed.isEmpty() ? null : new WrittenWeight(new Murmur3Hash(ScalaInterop.seq(hashed), Constants.HASH_SEED));
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

  /** What computes it in one task. */
  OfRow ofRow() {
    UnsafeProjection weight = UnsafeProjection$.MODULE$.create(ScalaInterop.seq(hash));
    return row -> weight.apply(row).getInt(0);
  }

  /** The weight of a row. */
  interface OfRow {
    int of(InternalRow row);
  }
}
