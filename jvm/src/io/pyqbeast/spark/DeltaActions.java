package io.pyqbeast.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.delta.DomainMetadataUtils$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.DomainMetadata;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/** Copies of actions of Delta's log in which some parts are different. */
public final class DeltaActions {
  private DeltaActions() {}

  /** What a scan needs of a file: neither tags nor statistics. */
  public static AddFile withoutTagsAndStatistics(AddFile file) {
    return new AddFile(
        file.path(), file.partitionValues(), file.size(), file.modificationTime(), file.dataChange(), null, null,
        file.deletionVector(), file.baseRowId(), file.defaultRowCommitVersion(), file.clusteringProvider(),
        file.backReference(), file.amtPassthrough());
  }

  /** What a scan needs of a file of a table without partitions, vectors and row ids. */
  public static AddFile plain(String path, long size, long modificationTime) {
    return new AddFile(
        path, ScalaInterop.map(Map.of()), size, modificationTime, false, null, null, null, Option.empty(),
        Option.empty(), Option.empty(), Option.empty(), Option.empty());
  }

  /** A file whose rows were in the table before. */
  public static AddFile withoutDataChange(AddFile file) {
    return with(file, file.size(), false, file.stats(), file.deletionVector());
  }

  /** A file of which the log tells other statistics. */
  public static AddFile withStatistics(AddFile file, String statistics) {
    return with(file, file.size(), file.dataChange(), statistics, file.deletionVector());
  }

  /** A file with more tags than it has, or with other values of these. */
  public static AddFile withTags(AddFile file, Map<String, String> tags) {
    Map<String, String> all = new HashMap<>(ScalaInterop.map(file.tagsOrEmpty()));
    all.putAll(tags);
    return file.copyWithTags(ScalaInterop.map(all));
  }

  /** A file that ends after some of its bytes: what a scan reads that needs no more of it. */
  public static AddFile ofSize(AddFile file, long size) {
    return with(file, size, file.dataChange(), file.stats(), file.deletionVector());
  }

  /** A file of another size, whose deletion vector, if it has one, hides so many rows. */
  public static AddFile counted(AddFile file, long size, long deleted) {
    DeletionVectorDescriptor vector = file.deletionVector();
    DeletionVectorDescriptor counted =
        vector == null
            ? null
            : vector.copy(
                vector.storageType(), vector.pathOrInlineDv(), vector.offset(), vector.sizeInBytes(), deleted,
                vector.maxRowIndex());
    return with(file, size, false, file.stats(), counted);
  }

  private static AddFile with(
      AddFile file, long size, boolean dataChange, String statistics, DeletionVectorDescriptor vector) {
    return file.copy(
        file.path(), file.partitionValues(), size, file.modificationTime(), dataChange, statistics, file.tags(), vector,
        file.baseRowId(), file.defaultRowCommitVersion(), file.clusteringProvider(), file.backReference(),
        file.amtPassthrough());
  }

  /** The same table with another comment; null for none. */
  public static Metadata described(Metadata table, String comment) {
    return table.copy(
        table.id(), table.name(), comment, table.format(), table.schemaString(), table.partitionColumns(),
        table.configuration(), table.createdTime());
  }

  /** The same table with another schema, and other entries in its configuration. */
  public static Metadata redefined(Metadata table, StructType schema, Map<String, String> entries) {
    return table.copy(
        table.id(), table.name(), table.description(), table.format(), schema.json(), table.partitionColumns(),
        ScalaInterop.map(entries), table.createdTime());
  }

  /** The same table without partitions. */
  public static Metadata unpartitioned(Metadata table) {
    return table.partitionColumns().isEmpty()
        ? table
        : table.copy(
            table.id(), table.name(), table.description(), table.format(), table.schemaString(),
            ScalaInterop.seq(List.of()), table.configuration(), table.createdTime());
  }

  /**
   * The actions of a write that replaces a table, with those that end its clustering. Delta's command adds them only where
   * it stores the columns itself.
   */
  public static Seq<Action> unclustered(Seq<Action> actions, Snapshot replaced) {
    List<Action> all = new ArrayList<>(ScalaInterop.list(actions));
    Set<String> told =
        all.stream()
            .filter(each -> each instanceof DomainMetadata)
            .map(each -> ((DomainMetadata) each).domain())
            .collect(Collectors.toSet());
    Seq<DomainMetadata> none = ScalaInterop.seq(List.of());
    ScalaInterop.list(
            DomainMetadataUtils$.MODULE$.handleDomainMetadataForReplaceTable(replaced.domainMetadata(), none))
        .stream()
        .filter(ended -> !told.contains(ended.domain()))
        .forEach(all::add);
    return ScalaInterop.seq(all);
  }

  /** The same table with other entries in its configuration. */
  public static Metadata configured(Metadata table, Map<String, String> entries) {
    return table.copy(
        table.id(), table.name(), table.description(), table.format(), table.schemaString(),
        table.partitionColumns(), ScalaInterop.map(entries), table.createdTime());
  }
}
