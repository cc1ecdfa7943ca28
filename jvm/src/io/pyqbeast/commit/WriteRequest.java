package io.pyqbeast.commit;

import io.pyqbeast.format.Constants;
import io.pyqbeast.spark.DeltaWrites;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.ScalaInterop;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaConfigs;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.DeltaOptions$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.commands.DeltaInsertReplaceOnOrUsingCommand$;
import org.apache.spark.sql.delta.commands.WriteIntoDelta;
import org.apache.spark.sql.delta.sources.DeltaSQLConf$;

/**
 * What the options of a write ask of Delta.
 *
 * @param properties those that the statement gives the table; they take effect if it makes or replaces the table
 * @param replacesTable whether the table is replaced by another one, so that its old properties and constraints go
 */
public record WriteRequest(DeltaOptions options, Map<String, String> properties, boolean replacesTable) {
  static WriteRequest of(SparkSession session, Map<String, String> given) {
    Map<String, String> properties = new HashMap<>();
    given.forEach(
        (key, value) -> {
          if (DeltaWrites.isProperty(key)) {
            properties.put(key, value);
          } else if (key.startsWith(Constants.TABLE_PROPERTY)) {
            properties.put(key.substring(Constants.TABLE_PROPERTY.length()), value);
          }
        });
    // Delta knows its own properties in any case, and reads them in one.
    Map<String, String> spelled =
        ScalaInterop.map(DeltaConfigs.validateConfigurations(ScalaInterop.map(properties)));
    return new WriteRequest(optionsOf(session, given), spelled, given.containsKey(Constants.REPLACES_TABLE));
  }

  /** The same for a write that makes the table: its properties bring along those that they need. */
  WriteRequest ofNewTable(SparkSession session, Snapshot before) {
    Map<String, String> all =
        ScalaInterop.map(DeltaWrites.ofNewTable(session, before, ScalaInterop.map(properties)));
    return new WriteRequest(options, all, replacesTable);
  }

  /** Delta's options. Where matches of some columns are replaced, it wants its own name for the table. */
  private static DeltaOptions optionsOf(SparkSession session, Map<String, String> given) {
    DeltaOptions asked = new DeltaOptions(ScalaInterop.map(given), session.sessionState().conf());
    if (asked.replaceUsing().isEmpty()) {
      return asked;
    }
    Map<String, String> named = new HashMap<>(given);
    named.put(
        DeltaOptions$.MODULE$.TARGET_ALIAS_OPTION(), DeltaOptions$.MODULE$.REPLACE_USING_INTERNAL_TABLE_ALIAS());
    return new DeltaOptions(ScalaInterop.map(named), session.sessionState().conf());
  }

  /**
   * Takes the number of a write from the session too, where a setting of Delta's says that each write has its own. Otherwise
   * the next write would pass for this one and be left out.
   *
   * @param own the copy of the session that the write ran in: Delta has taken the number from that only
   */
  public static void forgetVersion(SparkSession session, SparkSession own) {
    String version = DeltaSQLConf$.MODULE$.DELTA_IDEMPOTENT_DML_TXN_VERSION().key();
    boolean isTaken = own.conf().getOption(version).isEmpty();
    if (isTaken && session.conf().getOption(version).isDefined()) {
      session.conf().unset(version);
    }
  }

  /** Whether rows of the table that match the new ones give way to them. */
  boolean replacesMatches() {
    return options.isReplaceOnOrUsingDefined();
  }

  /** Delta's command that writes some rows so. */
  WriteIntoDelta command(DeltaLog log, SaveMode mode, Dataset<Row> data) {
    Dataset<Row> rows = replacesMatches() ? projected(data) : data;
    return DeltaWrites.command(log, mode, options, ScalaInterop.map(properties), rows);
  }

  /** The rows below a projection, where Delta looks for the columns that a match compares. */
  private static Dataset<Row> projected(Dataset<Row> data) {
    LogicalPlan plan = Frames.plan(data);
    return Frames.of(
        data.sparkSession(),
        DeltaInsertReplaceOnOrUsingCommand$.MODULE$.addOrdinalAliasProjection(plan, plan.output()));
  }
}
