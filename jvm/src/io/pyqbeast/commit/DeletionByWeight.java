package io.pyqbeast.commit;

import io.pyqbeast.format.Constants;
import io.pyqbeast.format.IndexedColumns;
import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.spark.CommandPlan;
import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommandBase;
import org.apache.spark.sql.execution.command.RunnableCommand;
import scala.Option;

/**
 * A DELETE or MERGE of Delta's whose condition names a hash, on an indexed table. Such a condition may choose rows by
 * their weight, and a deletion vector does not tell the weights of the rows that it hides. So this is noted in the
 * table's configuration before the command runs. From then on {@code WeightProfile} trusts only files without deleted
 * rows.
 */
public final class DeletionByWeight extends CommandPlan<RunnableCommand> {
  private static final long serialVersionUID = 1L;
  private static final String NOTED = Constants.text("DELETED_BY_WEIGHT");

  public DeletionByWeight(RunnableCommand command) {
    super(command);
  }

  /** @return null for any other command */
  public static DeletionByWeight of(LogicalPlan command) {
    if (command instanceof DeleteCommand delete
        && delete.condition().exists(ScalaInterop.predicate(WeightMentions::holdsHash))) {
      return new DeletionByWeight(delete);
    }
    return command instanceof MergeIntoCommandBase merge && merge.includesDeletes() && namesHash(merge)
        ? new DeletionByWeight((RunnableCommand) merge)
        : null;
  }

  private static boolean namesHash(MergeIntoCommandBase merge) {
    List<Expression> conditions = new ArrayList<>(List.of(merge.condition()));
    ScalaInterop.list(merge.matchedClauses())
        .forEach(clause -> clause.condition().foreach(ScalaInterop.function(conditions::add)));
    ScalaInterop.list(merge.notMatchedBySourceClauses())
        .forEach(clause -> clause.condition().foreach(ScalaInterop.function(conditions::add)));
    return conditions.stream().anyMatch(WeightMentions::holdsHash) || WeightMentions.holdsHash(merge.source());
  }

  @Override
  public InternalRow[] executeCollect() {
    DeltaLog log =
        command instanceof DeleteCommand delete
            ? delete.deltaLog()
            : ((MergeIntoCommandBase) command).targetFileIndex().deltaLog();
    Metadata metadata = log.update(false, Option.empty(), Option.empty()).metadata();
    boolean isRefused = "true".equalsIgnoreCase(metadata.configuration().getOrElse("delta.appendOnly", () -> ""));
    boolean isIndexed = !IndexedColumns.of(metadata.configuration()).isEmpty();
    if (isIndexed && !isRefused && !metadata.configuration().contains(NOTED)) {
      note(log);
    }
    return run();
  }

  private static void note(DeltaLog log) {
    OptimisticTransaction transaction = new OptimisticTransaction(log, Option.empty(), Option.empty());
    Metadata now = transaction.metadata();
    Map<String, String> configuration = new HashMap<>(ScalaInterop.map(now.configuration()));
    configuration.put(NOTED, "true");
    transaction.updateMetadata(DeltaActions.configured(now, configuration), false);
    transaction.commit(
        ScalaInterop.seq(List.of()), new DeltaOperations.SetTableProperties(ScalaInterop.map(Map.of(NOTED, "true"))));
  }
}
