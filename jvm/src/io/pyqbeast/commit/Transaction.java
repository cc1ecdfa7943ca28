package io.pyqbeast.commit;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.errors.Door;
import io.pyqbeast.format.Constants;
import io.pyqbeast.index.DeletedRows;
import io.pyqbeast.index.PrunableRevisions;
import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.index.WeightProfile;
import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.DeltaWrites;
import io.pyqbeast.spark.ExactSession;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.LiveFiles;
import io.pyqbeast.spark.Recomputed;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.SessionCopy;
import io.pyqbeast.spark.Snapshots;
import io.pyqbeast.statistics.KeptBounds;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaColumnMapping$;
import org.apache.spark.sql.delta.DeltaConcurrentModificationException;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.OptimisticTransaction$;
import org.apache.spark.sql.delta.RowTracking$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.RemoveFile;
import org.apache.spark.sql.delta.commands.WriteIntoDelta;
import org.apache.spark.sql.delta.schema.ImplicitMetadataOperation$;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * A Delta transaction that also stores revisions and block tags. Delta writes the rows and decides on schema, replaced
 * files and conflicts; Python says what the revision is and which blocks each written file holds.
 */
public final class Transaction extends LaidOutTransaction {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final System.Logger LOG = System.getLogger(Transaction.class.getName());

  private final Door door;
  private Seq<Action> actions = ScalaInterop.seq(List.of());

  /** The entries of {@link StoredEntries#NOTES} that this transaction adds. */
  private final Set<String> notes = new HashSet<>();

  private String conflict = "";

  /** The query that gives the rows to write; null before. */
  private LogicalPlan query;

  /** Null where no rows are kept. */
  private Dataset<Row> kept;

  private Transaction(SparkSession session, DeltaLog log, Snapshot begins, Door door) {
    super(session, log, begins);
    this.door = door;
  }

  /**
   * Starts on the newest version of a table, which need not exist yet, or on the one that the rows were worked out from: what
   * has come since may conflict with them. Options of Hadoop say how to reach the table.
   */
  public static Transaction begin(SparkSession session, String path, Map<String, String> given) {
    Door door = Door.writing(session, path);
    return door.open(
        () -> {
          DeltaLog log = DeltaLog.forTable(session, new Path(path), ScalaInterop.map(given));
          Snapshot newest = Snapshots.newest(log);
          String read = given.get(Constants.READS_TABLE);
          Snapshot begins = read == null ? newest : Snapshots.at(log, Long.parseLong(read));
          return new Transaction(session, log, begins, door);
        });
  }

  @Override
  public boolean exists() {
    return readVersion() >= 0;
  }

  /** Whether this began without a table, and another writer has made one since. */
  public boolean isOvertaken() {
    return !exists() && deltaLog().tableExists();
  }

  /** The table's schema as Spark writes it in JSON; empty for a new table. */
  public String schema() {
    return door.open(() -> exists() ? metadata().schemaString() : "");
  }

  /** Whether written rows got numbers of identity columns. From then on {@link #schema} tells how far these went. */
  public boolean hasGivenNumbers() {
    return updatedIdentityHighWaterMarks().nonEmpty();
  }

  /** Whether the rows that were written were worked out from rows of the table itself. */
  public boolean hasReadTable() {
    return readTheWholeTable() || !readPredicates().isEmpty() || !readFiles().isEmpty();
  }

  /** Where the table lies, in full. */
  public String path() {
    return deltaLog().dataPath().toString();
  }

  /** The version that this began on. */
  public TableLog tableLog() {
    return TableLog.of(session, deltaLog(), snapshot());
  }

  /** What is about to be committed: each action as the line of JSON that Delta writes for it. */
  public List<String> pending() {
    return door.open(
        () -> {
          List<Action> all = new ArrayList<>();
          newProtocol().foreach(ScalaInterop.function(all::add));
          withNotes().foreach(ScalaInterop.function(all::add));
          all.addAll(ScalaInterop.list(actions));
          return all.stream().map(Action::json).toList();
        });
  }

  /**
   * Entries of the table's configuration to store with the next change of metadata.
   *
   * @param entries a JSON object of texts
   * @param dropsRevisions whether the revisions that are there now go
   */
  public void store(String entries, boolean dropsRevisions) throws JsonProcessingException {
    Map<String, String> added = JSON.readValue(entries, new TypeReference<Map<String, String>>() {});
    this.entries = new StoredEntries(added, dropsRevisions);
  }

  /** Whether a write with these options, by its {@code txnAppId} and {@code txnVersion}, has been committed before. */
  public boolean isDone(Dataset<Row> data, String mode, Map<String, String> given) {
    return door.open(
        () ->
            command(data, SaveMode.valueOf(mode), given)
                .hasBeenExecuted(this, session, Option.apply(request.options())));
  }

  /**
   * Rows that are computed once and kept until {@link #forgetKept}, because Delta reads them more than once. A source may give
   * others each time. This is active while they are computed, so it learns which tables they were read from.
   */
  public Dataset<Row> kept(Dataset<Row> data) {
    return active(
        () -> {
          comeFrom(Frames.plan(data));
          // The plan is made anew: one that was made before says which files of the table it reads.
          kept = Frames.of(data.sparkSession(), Frames.plan(data)).localCheckpoint(false);
          kept.count(); // which keeps them: where it fails, what it has kept so far is known
          return kept;
        });
  }

  /** Spark would hold on to the rows of {@link #kept} until it happens to collect garbage. */
  public void forgetKept() {
    if (kept != null) {
      Frames.free(kept);
    }
  }

  /** The rows as the table will hold them; see {@link Rehearsal}. */
  public Dataset<Row> asStored(Dataset<Row> data, String mode, Map<String, String> given) {
    return door.open(
        () -> {
          Transaction throwaway = new Transaction(session, deltaLog(), snapshot(), door);
          comeFrom(Frames.plan(data));
          WriteIntoDelta command = throwaway.command(data, SaveMode.valueOf(mode), given);
          rehearsal = Rehearsal.of(session, throwaway, command, data);
          return rehearsal.asStored();
        });
  }

  /** The query that gives the rows. Rows that are kept have lost it afterwards, so the first call counts. */
  private void comeFrom(LogicalPlan rows) {
    query = query == null ? rows : query;
  }

  /**
   * The revisions whose blocks tell the weights that rows have after this write, as {@code PrunableRevisions} finds
   * them.
   */
  public String prunableRevisions() {
    return door.open(() -> JSON.writeValueAsString(PrunableRevisions.of(rehearsal.planned())));
  }

  /**
   * Writes rows that are laid out already, one partition a file, and keeps the actions for {@link #commit}.
   *
   * @param pageRows rows a Parquet page
   */
  public void write(Dataset<Row> data, String mode, Map<String, String> given, int pageRows) {
    change(
        () -> {
          boolean isSettled = query != null && Recomputed.isSettled(query);
          try (SessionCopy own = WritingSession.of(session, pageRows, isSettled)) {
            writeIn(own.session(), data, mode, given);
          }
        });
  }

  private void writeIn(SparkSession own, Dataset<Row> data, String mode, Map<String, String> given) throws Exception {
    laidOut = Frames.of(own, Frames.plan(data));
    request = requested(given);
    Dataset<Row> rows =
        request.replacesMatches()
            ? Frames.of(own, Frames.plan(rehearsal.asGiven()))
            : rehearsal.withoutNumbers(laidOut);
    WriteIntoDelta command = request.command(deltaLog(), SaveMode.valueOf(mode), rows);
    source = command.data();
    if (given.containsKey(Constants.READS_TABLE)) {
      readWholeTable();
    }
    storeUnlessDeltaWill(command, Rehearsal.asDeltaTakes(session, source.schema()));
    actions = actionsOf(command);
    if (isReplaced()) {
      actions = DeltaActions.unclustered(actions, snapshot());
    }
    if (!entries.changeNothing() && newMetadata().isEmpty()) {
      throw new IllegalStateException("nobody has stored the revision of these rows, by which their files are tagged");
    }
    if (exists() && DeltaWrites.replacesPart(request.options()) && areReplacedByWeight()) {
      notes.add(Constants.DELETED_BY_WEIGHT);
    }
  }

  /**
   * Runs Delta's command. Where rows give way, it has to find all of them and to keep the others of their files as they are,
   * whatever the session passes over or reads otherwise. The new rows are read in their own session.
   */
  private Seq<Action> actionsOf(WriteIntoDelta command) {
    SparkSession own = laidOut.sparkSession();
    if (!DeltaWrites.replacesPart(request.options())) {
      return command.writeAndReturnCommitData(this, own, Option.empty(), false).actions();
    }
    try (SessionCopy copy = ExactSession.ofRemoval(own)) {
      org.apache.spark.sql.classic.SparkSession removing = copy.session();
      // Delta reads the table in the session that is active.
      Seq<Action> all =
          removing.withActive(
              ScalaInterop.supplier(
                  () -> command.writeAndReturnCommitData(this, removing, Option.empty(), false).actions()));
      WriteRequest.forgetVersion(own, removing);
      return KeptBounds.in(all, snapshot());
    }
  }

  /** Whether the rows that give way are chosen by their weight, be it named or seen in what is gone. */
  private boolean areReplacedByWeight() throws ParseException {
    DeltaOptions options = request.options();
    if (WeightMentions.holdsHash(session, options.replaceWhere(), options.replaceOn())) {
      return true;
    }
    Set<String> ofNewRows = written.paths();
    List<Action> ofOldRows =
        ScalaInterop.list(actions).stream()
            .filter(each -> !(each instanceof AddFile file && ofNewRows.contains(file.path())))
            .toList();
    return DeletedRows.areChosenByWeight(this, ofOldRows, false);
  }

  /**
   * The rows of some of the table's files, without those that deletion vectors hide. Where the table tracks its rows they
   * bring along, in the columns that Delta keeps for it, who they are and when they last changed.
   */
  public Dataset<Row> rowsOf(List<String> paths) {
    return door.open(() -> RowsOfFiles.of(snapshot(), filesOf(paths)));
  }

  private List<AddFile> filesOf(List<String> paths) {
    Set<String> wanted = new HashSet<>(paths);
    return LiveFiles.of(snapshot()).stream().filter(f -> wanted.contains(f.path())).toList();
  }

  /**
   * Replaces files by others that hold the same rows, and keeps the actions for {@link #commitRewrite}.
   *
   * @param data the rows, laid out already, one partition a file; null where the files have none left
   * @param pageRows rows a Parquet page
   */
  public void rewrite(Dataset<Row> data, List<String> paths, Map<String, String> given, int pageRows) {
    request = WriteRequest.of(session, given);
    List<Action> all = new ArrayList<>();
    change(
        () -> {
          long now = System.currentTimeMillis();
          filesOf(paths).forEach(file -> all.add(file.removeWithTimestamp(now, false)));
          if (!entries.added().isEmpty()) {
            updateMetadata(metadata(), false);
          }
          if (data != null) {
            try (SessionCopy own = WritingSession.of(session, pageRows, true)) { // rows of the table's own files
              for (FileAction file : ScalaInterop.list(writeAgain(Frames.of(own.session(), Frames.plan(data))))) {
                all.add(file instanceof AddFile add ? DeltaActions.withoutDataChange(add) : file);
              }
            }
          }
        });
    actions = ScalaInterop.seq(all);
  }

  private WriteRequest requested(Map<String, String> given) {
    WriteRequest asked = WriteRequest.of(session, given);
    return exists() ? asked : asked.ofNewTable(session, snapshot());
  }

  private WriteIntoDelta command(Dataset<Row> data, SaveMode mode, Map<String, String> given) {
    request = requested(given);
    return request.command(deltaLog(), mode, data);
  }

  /**
   * Stores the revision before the first file is written, unless Delta is going to update the metadata itself. A
   * transaction may update its metadata only once, and not after its first file.
   */
  private void storeUnlessDeltaWill(WriteIntoDelta command, StructType rows) {
    if (!exists() || entries.changeNothing()) {
      return;
    }
    boolean overwrites = command.mode() == SaveMode.Overwrite;
    DeltaOptions options = request.options();
    boolean newSchema = options.canOverwriteSchema() && overwrites && options.replaceWhere().isEmpty();
    StructType plain = DeltaColumnMapping$.MODULE$.dropColumnMappingMetadata(rows.asNullable());
    StructType merged =
        ImplicitMetadataOperation$.MODULE$.mergeSchema(session, this, plain, overwrites, newSchema);
    if (merged.equals(metadata().schema())) {
      updateMetadata(metadata(), false);
    }
  }

  /** What was written: a JSON array of the fields of Python's {@code WrittenFile}. */
  public String written() throws JsonProcessingException {
    return JSON.writeValueAsString(written.fields());
  }

  /** Takes over what another transaction wrote and could not commit: rows without numbers that others have too. */
  public void adopt(Transaction other) {
    door.run(other::checkTable);
    actions = other.actions;
    written.add(other.written);
    query = other.query;
    laidOut = other.laidOut; // whose session tells what the write took from it
    adoptFiles(other);
    request = other.request;
    if (!entries.added().isEmpty()) {
      change(() -> updateMetadata(metadata(), false));
    }
  }

  /**
   * Gives written files their tags, and notes where they hold rows that somebody chose by weight.
   *
   * @param tagsOfFiles a JSON object: path of a written file to its tags; files it leaves out keep none
   */
  public void tag(String tagsOfFiles) throws JsonProcessingException {
    Map<String, Map<String, String>> tags =
        JSON.readValue(tagsOfFiles, new TypeReference<Map<String, Map<String, String>>>() {});
    List<Action> all = new ArrayList<>();
    List<AddFile> tagged = new ArrayList<>();
    Set<String> replaced = new HashSet<>();
    for (Action action : ScalaInterop.list(actions)) {
      if (action instanceof AddFile file && tags.containsKey(file.path())) {
        AddFile ours = DeltaActions.withTags(file, tags.get(file.path()));
        tagged.add(ours);
        all.add(ours);
        continue;
      }
      if (action instanceof RemoveFile file) {
        replaced.add(file.path());
      }
      all.add(action);
    }
    actions = ScalaInterop.seq(all);
    // Nobody has counted the weights of rows in files without tags, so their query has to tell.
    if (!tags.keySet().containsAll(written.paths()) && query != null && WeightMentions.mayChoose(query)) {
      notes.add(Constants.CHOSEN_BY_WEIGHT);
    }
    Snapshot joined = entries.dropsRevisions() ? null : snapshot();
    String note = door.open(() -> WeightProfile.note(joined, replaced, tagged, metadata()));
    if (note != null) {
      notes.add(note);
    }
  }

  /**
   * Commits what was written.
   *
   * @return false where another writer's commit stands in the way, which {@link #conflict} tells
   */
  public boolean commit(String mode, Map<String, String> tags) {
    DeltaOperations.Operation operation = DeltaWrites.operation(SaveMode.valueOf(mode), request.options());
    return commit(operation, tags);
  }

  /** Commits a {@link #rewrite}, as {@link #commit} does. */
  public boolean commitRewrite(Map<String, String> tags) {
    return commit(DeltaWrites.rewrite(), ofSameRows(tags));
  }

  /** The tags of a commit that changes no row: where the table tracks its rows they tell so. */
  private Map<String, String> ofSameRows(Map<String, String> tags) {
    return ScalaInterop.map(
        RowTracking$.MODULE$.addPreservedRowTrackingTagIfNotSet(snapshot(), ScalaInterop.map(tags)));
  }

  /** Commits what {@link #store} was given and nothing else, as {@link #commit} does. */
  public boolean commitStored() {
    change(() -> updateMetadata(metadata(), false));
    return commit(new DeltaOperations.SetTableProperties(ScalaInterop.map(entries.added())), ofSameRows(Map.of()));
  }

  private boolean commit(DeltaOperations.Operation operation, Map<String, String> tags) {
    return active(
        () -> {
          try {
            newMetadata_$eq(withNotes());
            commitIfNeeded(actions, operation, ScalaInterop.map(tags));
            if (laidOut != null) {
              WriteRequest.forgetVersion(session, laidOut.sparkSession());
            }
            return true;
          } catch (DeltaConcurrentModificationException e) {
            conflict = e.getMessage();
            return false;
          }
        });
  }

  /** The metadata to commit, if any. What the log of the table's files may forget is noted in it. */
  private Option<Metadata> withNotes() {
    return StoredEntries.noted(metadata(), notes).map(Option::apply).orElse(newMetadata());
  }

  public String conflict() {
    return conflict;
  }

  /** Deletes the files of a write that will not be committed. What cannot be deleted stays: no reader looks at it. */
  public void discard() {
    door.run(
        () -> {
          try {
            discard(actions);
          } catch (Exception e) {
            LOG.log(System.Logger.Level.WARNING, "files that VACUUM deletes stay behind in " + path(), e);
          }
        });
    written.clear();
  }

  private void change(Door.Step step) {
    active(
        () -> {
          step.run();
          return null;
        });
  }

  /** Runs what Delta does while this is the transaction that is active in its thread. */
  private <T> T active(Door.Body<T> body) {
    return OptimisticTransaction$.MODULE$.withActive(this, false, ScalaInterop.supplier(() -> door.open(body)));
  }
}
