package io.pyqbeast.commands;

import io.pyqbeast.commit.StoredEntries;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.index.DeletedRows;
import io.pyqbeast.index.MovedRows;
import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.spark.CommandPlan;
import io.pyqbeast.spark.DeltaCommands;
import io.pyqbeast.spark.DeltaWrites;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.Snapshots;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoClause;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommandBase;
import org.apache.spark.sql.delta.commands.UpdateCommand;
import org.apache.spark.sql.delta.sources.DeltaDataSource;
import org.apache.spark.sql.execution.command.RunnableCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import scala.Option;

/**
 * Runs a DELETE, MERGE, UPDATE or {@code save} of Delta's on an indexed table, or an INSERT into a view of one, and leaves
 * notes in the table's configuration if the command chooses rows by their weight. One note says that it takes rows away
 * from their weight: it deletes them, or gives them other values in hashed columns. The other one says that it inserts
 * rows. Neither a deletion vector nor a file without an index tells the weights of its rows. So once a note is there,
 * {@code WeightProfile} trusts only files that count theirs.
 *
 * <p>A note is part of the command's own commit. It is there if a hash, a sample or a cut stands in the command, or if
 * {@link DeletedRows} finds that the rows that go are chosen by weight.
 *
 * <p>Columns that a MERGE brings have to be such that the index can go on: see {@link EvolvedSchema}.
 *
 * <p>No compaction follows the command, which would take the index from files that the command has not touched.
 */
public final class ChoiceByWeight extends CommandPlan<RunnableCommand> {
  private static final long serialVersionUID = 1L;

  public ChoiceByWeight(RunnableCommand command) {
    super(command);
  }

  /** @return null for any other command */
  public static ChoiceByWeight of(LogicalPlan command) {
    DeltaLog log = logOf(command);
    if (log == null) {
      return null;
    }
    List<String> hashed = HashedColumns.of(log.unsafeVolatileMetadata()).all();
    boolean changesRows = DeltaCommands.logOf(command) != null;
    boolean isWatched = !hashed.isEmpty() && (changesRows || takes(command, hashed) || inserts(command));
    return isWatched ? new ChoiceByWeight((RunnableCommand) command) : null;
  }

  /** @return null for any other command, and where no weight may choose the rows of a {@code save} */
  private static DeltaLog logOf(LogicalPlan command) {
    if (command instanceof SaveIntoDataSourceCommand save && save.dataSource() instanceof DeltaDataSource) {
      Option<String> path = save.options().get("path");
      return path.isDefined() && (takes(save) || inserts(save))
          ? DeltaLog.forTable(SparkSession.active(), new Path(path.get()), save.options())
          : null;
    }
    if (command instanceof InsertIntoDataSourceCommand insert) {
      return DeltaCommands.logRead(insert.logicalRelation());
    }
    return DeltaCommands.logOf(command);
  }

  /** Whether rows leave their weights. */
  private static boolean takes(LogicalPlan command, List<String> hashed) {
    return deletes(command)
        || MovedRows.areMoved(command, hashed)
        || command instanceof SaveIntoDataSourceCommand save && takes(save);
  }

  private static boolean takes(SaveIntoDataSourceCommand save) {
    return save.mode() == SaveMode.Overwrite && DeltaWrites.replacesPart(options(save));
  }

  private static DeltaOptions options(SaveIntoDataSourceCommand save) {
    return new DeltaOptions(save.options(), SparkSession.active().sessionState().conf());
  }

  private static boolean deletes(LogicalPlan command) {
    return command instanceof DeleteCommand || command instanceof MergeIntoCommandBase merge && merge.includesDeletes();
  }

  private static boolean inserts(LogicalPlan command) {
    return command instanceof SaveIntoDataSourceCommand save && inserts(save)
        || command instanceof InsertIntoDataSourceCommand insert && WeightMentions.mayChoose(insert.query())
        || command instanceof MergeIntoCommandBase merge && !merge.notMatchedClauses().isEmpty();
  }

  /** A {@code save} in another mode writes nothing into a table that is there. */
  private static boolean inserts(SaveIntoDataSourceCommand save) {
    return (save.mode() == SaveMode.Append || save.mode() == SaveMode.Overwrite) && WeightMentions.mayChoose(save.query());
  }

  /** None where a condition cannot be parsed: Delta refuses it then. */
  private static Set<String> notesOf(LogicalPlan command, List<String> hashed) {
    try {
      return notes(command, hashed);
    } catch (ParseException e) {
      return Set.of();
    }
  }

  /** The notes about rows that the weight may choose, as the command itself shows. */
  private static Set<String> notes(LogicalPlan command, List<String> hashed) throws ParseException {
    Set<String> notes = new HashSet<>();
    if (takes(command, hashed) && (areMovedByHash(command, hashed) || isChosenByHash(command))) {
      notes.add(Constants.DELETED_BY_WEIGHT);
    }
    if (inserts(command) && areInsertedByHash(command, hashed)) {
      notes.add(Constants.CHOSEN_BY_WEIGHT);
    }
    return notes;
  }

  /** Whether the weight may say which rows get other values. */
  private static boolean areMovedByHash(LogicalPlan command, List<String> hashed) {
    return MovedRows.values(command, hashed).stream().anyMatch(WeightMentions::holdsHash);
  }

  private static boolean isChosenByHash(LogicalPlan command) throws ParseException {
    if (command instanceof MergeIntoCommandBase merge) {
      return isChosenByHash(merge);
    }
    if (command instanceof SaveIntoDataSourceCommand save) {
      DeltaOptions options = options(save);
      return WeightMentions.holdsHash(SparkSession.active(), options.replaceWhere(), options.replaceOn());
    }
    Option<Expression> condition =
        command instanceof UpdateCommand update ? update.condition() : ((DeleteCommand) command).condition();
    return condition.exists(ScalaInterop.predicate(WeightMentions::holdsHash));
  }

  private static boolean isChosenByHash(MergeIntoCommandBase merge) {
    return areJoinedByHash(merge)
        || anyHoldsHash(ScalaInterop.list(merge.matchedClauses()))
        || anyHoldsHash(ScalaInterop.list(merge.notMatchedBySourceClauses()));
  }

  /** Whether the weight may say which rows are inserted, also by the values that these get. */
  private static boolean areInsertedByHash(LogicalPlan command, List<String> hashed) {
    return !(command instanceof MergeIntoCommandBase merge)
        || areJoinedByHash(merge)
        || anyHoldsHash(ScalaInterop.list(merge.notMatchedClauses()))
        || MovedRows.inserted(merge, hashed).stream().anyMatch(WeightMentions::holdsHash);
  }

  private static boolean anyHoldsHash(List<? extends DeltaMergeIntoClause> clauses) {
    return clauses.stream()
        .anyMatch(clause -> clause.condition().exists(ScalaInterop.predicate(WeightMentions::holdsHash)));
  }

  private static boolean areJoinedByHash(MergeIntoCommandBase merge) {
    return WeightMentions.holdsHash(merge.condition()) || WeightMentions.mayChoose(merge.source());
  }

  @Override
  public InternalRow[] executeCollect() {
    LogicalPlan plan = (LogicalPlan) command;
    Snapshot table = Snapshots.newest(logOf(plan));
    List<String> hashed = HashedColumns.of(table.metadata()).all();
    if (hashed.isEmpty()) {
      return run();
    }
    EvolvedSchema.check(plan, table);
    Set<String> notes = notesOf(plan, hashed);
    boolean takes = takes(plan, hashed);
    boolean moves = plan instanceof SaveIntoDataSourceCommand || MovedRows.areMoved(plan, hashed);
    return AdjustedCommit.run(
        this::run,
        (transaction, actions) ->
            StoredEntries.noted(
                transaction.metadata(), takes ? withDeletion(notes, transaction, actions, moves) : notes));
  }

  /** The notes, and the one about rows that are taken away if what the commit takes away shows it. */
  private static Set<String> withDeletion(
      Set<String> notes, OptimisticTransaction transaction, List<Action> actions, boolean moves) {
    String note = Constants.DELETED_BY_WEIGHT;
    boolean isNoted = notes.contains(note) || transaction.metadata().configuration().contains(note);
    if (isNoted || !DeletedRows.areChosenByWeight(transaction, actions, moves)) {
      return notes;
    }
    Set<String> all = new HashSet<>(notes);
    all.add(note);
    return all;
  }
}
