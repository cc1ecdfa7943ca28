package io.pyqbeast.commands;

import io.delta.tables.DeltaTable;
import io.pyqbeast.commit.SureTransaction;
import io.pyqbeast.commit.WriteRequest;
import io.pyqbeast.errors.Door;
import io.pyqbeast.errors.Landed;
import io.pyqbeast.spark.ExactSession;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.SessionCopy;
import io.pyqbeast.statistics.KeptBounds;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.delta.DeltaConcurrentModificationException;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function0;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Runs one of Delta's own commands (DELETE, RESTORE, ALTER TABLE, CONVERT) on a {@link SureTransaction}. Delta asks a
 * thread's observer for each transaction that it starts. This observer hands over its own transaction for the first
 * one. Later ones belong to hooks that run after the commit.
 */
public final class WatchedCommand extends ForwardingObserver {
  private CommandTransaction transaction;

  private WatchedCommand() {}

  /**
   * Deletes the rows of the table at a path that meet a condition. A session may be set to pass over files that it cannot
   * read: rows in them would stay, or go with the others of their file, and the call would succeed. One may also be set to
   * read other values than the files have: where Delta writes the rest of a file again, these would be in the table.
   *
   * @return Delta's message where another writer's change stood in the way, and nothing is deleted; empty on success
   */
  public static String delete(SparkSession session, String path, Column condition) {
    return Door.writing(session, path)
        .open(
            () -> {
              org.apache.spark.sql.classic.SparkSession given = (org.apache.spark.sql.classic.SparkSession) session;
              try (SessionCopy own = ExactSession.ofRemoval(given)) {
                DeleteFromTable asked = new DeleteFromTable(target(own.session(), path), given.expression(condition));
                // The condition is analyzed where it was written, as a copy of a session lacks some of what it may name.
                DeleteCommand delete = (DeleteCommand) LogicalPlans.analyzed(given, asked);
                try {
                  return run(() -> deletedIn(own.session(), delete), "");
                } catch (DeltaConcurrentModificationException e) {
                  return e.getMessage();
                } finally {
                  WriteRequest.forgetVersion(session, own.session());
                }
              }
            });
  }

  private static String deletedIn(org.apache.spark.sql.classic.SparkSession own, DeleteCommand delete) {
    LogicalPlan exact = LogicalPlans.replaced(delete.target(), LogicalRelation.class, LogicalPlans::exact);
    Frames.of(own, delete.copy(delete.deltaLog(), delete.catalogTable(), exact, delete.condition()));
    return "";
  }

  /** Spark adds blanks to what it reads of a CHAR column, and only the plan of the SQL statement deletes from that. */
  private static LogicalPlan target(SparkSession session, String path) {
    LogicalPlan table = Frames.plan(DeltaTable.forPath(session, path).toDF());
    if (!(table instanceof Project)) {
      return table;
    }
    String whole = DeltaLog.forTable(session, new Path(path)).dataPath().toString(); // SQL takes no relative one
    return new UnresolvedRelation(
        ScalaInterop.seq(List.of("spark_catalog", "delta", whole)), CaseInsensitiveStringMap.empty(), false);
  }

  /**
   * Runs a statement that changes the table at a path by one commit, and gives back no rows. What it tells of files holds in
   * any session.
   */
  public static void sql(SparkSession session, String path, String statement) {
    Door.writing(session, path)
        .open(
            () -> {
              try (SessionCopy own = ExactSession.ofStatistics(session)) {
                return run(() -> own.session().sql(statement), null);
              }
            });
  }

  /**
   * Runs a command.
   *
   * @param landed what to return if something fails after the commit has landed
   */
  static <T> T run(Door.Body<T> command, T landed) {
    WatchedCommand watch = new WatchedCommand();
    try {
      return watch.observe(command::run);
    } catch (Throwable e) { // an Error as well: a caller who is told of it takes the write for failed
      if (watch.transaction == null || !watch.transaction.hasLanded()) {
        throw Door.unchecked(e);
      }
      Landed.logLaterFailure(watch.transaction.deltaLog().dataPath(), e);
      return landed;
    }
  }

  private static final class CommandTransaction extends SureTransaction {
    CommandTransaction(OptimisticTransaction started) {
      super(started.deltaLog(), started.catalogTable(), started.snapshot());
    }

    @Override
    public Option<Object> commitImpl(
        Seq<Action> actions,
        DeltaOperations.Operation operation,
        boolean canSkipEmptyCommits,
        scala.collection.immutable.Map<String, String> tags) {
      try {
        boolean deletes = operation instanceof DeltaOperations.Delete;
        Seq<Action> told = deletes ? KeptBounds.in(actions, snapshot()) : actions;
        return super.commitImpl(told, operation, canSkipEmptyCommits, tags);
      } catch (Throwable e) { // Scala's methods do not declare what they throw
        discardAfter(e, actions);
        throw e;
      }
    }
  }

  @Override
  public OptimisticTransaction startingTransaction(Function0<OptimisticTransaction> start) {
    OptimisticTransaction started = super.startingTransaction(start);
    if (transaction != null) {
      return started;
    }
    transaction = new CommandTransaction(started);
    return transaction;
  }
}
