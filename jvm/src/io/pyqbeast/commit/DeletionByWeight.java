package io.pyqbeast.commit;

import io.pyqbeast.errors.Landed;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.IndexedColumns;
import io.pyqbeast.index.DeletedRows;
import io.pyqbeast.index.MovedRows;
import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.spark.CommandPlan;
import io.pyqbeast.spark.DeltaCommands;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.Snapshots;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaConcurrentModificationException;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommandBase;
import org.apache.spark.sql.delta.commands.UpdateCommand;
import org.apache.spark.sql.execution.command.RunnableCommand;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Runs a DELETE, MERGE or UPDATE of Delta's on an indexed table, and leaves a note in the table's configuration if
 * the command chooses rows by their weight and takes them away from it: it deletes them, or gives them other values in
 * hashed columns. A deletion vector does not tell the weights of the rows that it hides. So once the note is there,
 * {@code WeightProfile} trusts only files without deleted rows.
 *
 * <p>The note is written before the command if a hash stands in its conditions or new values, and after it if
 * {@link DeletedRows} finds that the rows were chosen by weight.
 */
public final class DeletionByWeight extends CommandPlan<RunnableCommand> {
  private static final long serialVersionUID = 1L;
  private static final Set<String> DELETING = Set.of("DELETE", "MERGE", "UPDATE");

  public DeletionByWeight(RunnableCommand command) {
    super(command);
  }

  /** @return null for any other command */
  public static DeletionByWeight of(LogicalPlan command) {
    DeltaLog log = DeltaCommands.logOf(command);
    if (log == null) {
      return null;
    }
    List<String> hashed = IndexedColumns.of(log.unsafeVolatileMetadata());
    boolean takes = !hashed.isEmpty() && (deletes(command) || MovedRows.areMoved(command, hashed));
    return takes ? new DeletionByWeight((RunnableCommand) command) : null;
  }

  private static boolean deletes(LogicalPlan command) {
    return command instanceof DeleteCommand || command instanceof MergeIntoCommandBase merge && merge.includesDeletes();
  }

  /** Whether the weight may say which rows the command takes, or which of them get other values. */
  private static boolean holdsHash(LogicalPlan command, List<String> hashed) {
    return MovedRows.values(command, hashed).stream().anyMatch(WeightMentions::holdsHash) || isChosenByHash(command);
  }

  private static boolean isChosenByHash(LogicalPlan command) {
    if (command instanceof MergeIntoCommandBase merge) {
      return isChosenByHash(merge);
    }
    Option<Expression> condition =
        command instanceof UpdateCommand update ? update.condition() : ((DeleteCommand) command).condition();
    return condition.exists(ScalaInterop.predicate(WeightMentions::holdsHash));
  }

  private static boolean isChosenByHash(MergeIntoCommandBase merge) {
    List<Expression> conditions = new ArrayList<>(List.of(merge.condition()));
    ScalaInterop.list(merge.matchedClauses())
        .forEach(clause -> clause.condition().foreach(ScalaInterop.function(conditions::add)));
    ScalaInterop.list(merge.notMatchedBySourceClauses())
        .forEach(clause -> clause.condition().foreach(ScalaInterop.function(conditions::add)));
    return conditions.stream().anyMatch(WeightMentions::holdsHash) || WeightMentions.holdsHash(merge.source());
  }

  @Override
  public InternalRow[] executeCollect() {
    DeltaLog log = DeltaCommands.logOf((LogicalPlan) command);
    Snapshot before = Snapshots.newest(log);
    scala.collection.immutable.Map<String, String> configuration = before.metadata().configuration();
    boolean isRefused = "true".equalsIgnoreCase(configuration.getOrElse("delta.appendOnly", () -> ""));
    List<String> hashed = IndexedColumns.of(before.metadata());
    if (hashed.isEmpty() || isRefused || configuration.contains(Constants.DELETED_BY_WEIGHT)) {
      return run();
    }
    if (holdsHash((LogicalPlan) command, hashed)) {
      note(log);
      return run();
    }
    InternalRow[] result = run();
    boolean moves = MovedRows.areMoved((LogicalPlan) command, hashed);
    Landed.quietly(log.dataPath(), () -> noteWhatWasDeleted(log, before, moves));
    return result;
  }

  /** The commit is the next one, unless another writer was faster: then what that writer deleted is judged as well. */
  private static void noteWhatWasDeleted(DeltaLog log, Snapshot before, boolean moves) {
    Iterator<Tuple2<Object, Seq<Action>>> commits = log.getChanges(before.version() + 1, Option.empty(), false);
    while (commits.hasNext()) {
      List<Action> actions = ScalaInterop.list(commits.next()._2());
      boolean deletes =
          actions.stream().anyMatch(each -> each instanceof CommitInfo info && DELETING.contains(info.operation()));
      if (deletes && DeletedRows.areChosenByWeight(before, actions, moves)) {
        note(log);
        return;
      }
    }
  }

  private static void note(DeltaLog log) {
    RepeatedCommit.land(
        () -> isNoted(log),
        "the table at " + log.dataPath() + " does not note that rows are deleted by their weight; once they are, run"
            + " optimize(), or a sample is another share of the rows than the one asked for");
  }

  /** @return false where another writer came first */
  private static boolean isNoted(DeltaLog log) {
    Snapshot newest = Snapshots.newest(log);
    Optional<Metadata> noted = StoredEntries.noted(newest.metadata(), Set.of(Constants.DELETED_BY_WEIGHT));
    if (noted.isEmpty()) {
      return true;
    }
    OptimisticTransaction transaction = new OptimisticTransaction(log, Option.empty(), Option.apply(newest));
    transaction.updateMetadata(noted.get(), false);
    try {
      transaction.commit(
          ScalaInterop.seq(List.of()),
          new DeltaOperations.SetTableProperties(ScalaInterop.map(Map.of(Constants.DELETED_BY_WEIGHT, "true"))));
      return true;
    } catch (DeltaConcurrentModificationException e) {
      return false;
    }
  }
}
