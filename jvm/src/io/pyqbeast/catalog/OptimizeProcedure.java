package io.pyqbeast.catalog;

import io.pyqbeast.python.Bridge;
import io.pyqbeast.spark.Frames;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** {@code CALL system.qbeast_optimize('table or path')}: the optimization that Python does, and what it changed. */
public final class OptimizeProcedure implements UnboundProcedure, BoundProcedure {
  public static final Identifier NAME = Identifier.of(new String[] {"system"}, "qbeast_optimize");

  /** The parameters are the same for all arguments. */
  @Override
  public BoundProcedure bind(StructType arguments) {
    return this;
  }

  @Override
  public String name() {
    return NAME.name();
  }

  @Override
  public String description() {
    return "Puts the rows of scattered files of an indexed table in order; changes no row";
  }

  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public ProcedureParameter[] parameters() {
    return new ProcedureParameter[] {
      ProcedureParameter.in("table", DataTypes.StringType).comment("name or path of an indexed table").build(),
      ProcedureParameter.in("revision", DataTypes.LongType).defaultValue("NULL")
          .comment("by default the latest; 0 stands for the files that are not indexed").build(),
      ProcedureParameter.in("fraction", DataTypes.DoubleType).defaultValue("NULL")
          .comment("by default 1: only the files that a sample of this fraction reads").build()
    };
  }

  @Override
  public Iterator<Scan> call(InternalRow input) {
    Map<String, Object> arguments = new HashMap<>();
    arguments.put("table", input.isNullAt(0) ? null : input.getUTF8String(0).toString());
    arguments.put("revision", input.isNullAt(1) ? null : input.getLong(1));
    arguments.put("fraction", input.isNullAt(2) ? null : input.getDouble(2));
    Dataset<Row> answer = Bridge.answer(SparkSession.active(), "optimize", arguments);
    InternalRow[] rows = Frames.query(answer).executedPlan().executeCollect();
    return List.<Scan>of(new Changes(answer.schema(), rows)).iterator();
  }

  private record Changes(StructType readSchema, InternalRow[] rows) implements LocalScan {}
}
