package io.pyqbeast.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.StructType;
import scala.Option;

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
    return file.copy(
        file.path(), file.partitionValues(), file.size(), file.modificationTime(), false, file.stats(), file.tags(),
        file.deletionVector(), file.baseRowId(), file.defaultRowCommitVersion(), file.clusteringProvider(),
        file.backReference(), file.amtPassthrough());
  }

  /** A file with more tags than it has, or with other values of these. */
  public static AddFile withTags(AddFile file, Map<String, String> tags) {
    Map<String, String> all = new HashMap<>(ScalaInterop.map(file.tagsOrEmpty()));
    all.putAll(tags);
    return file.copyWithTags(ScalaInterop.map(all));
  }

  /** A file that ends after some of its bytes: what a scan reads that needs no more of it. */
  public static AddFile ofSize(AddFile file, long size) {
    return file.copy(
        file.path(), file.partitionValues(), size, file.modificationTime(), file.dataChange(), file.stats(), file.tags(),
        file.deletionVector(), file.baseRowId(), file.defaultRowCommitVersion(), file.clusteringProvider(),
        file.backReference(), file.amtPassthrough());
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
    return file.copy(
        file.path(), file.partitionValues(), size, file.modificationTime(), false, file.stats(), file.tags(), counted,
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

  /** The same table with other entries in its configuration. */
  public static Metadata configured(Metadata table, Map<String, String> entries) {
    return table.copy(
        table.id(), table.name(), table.description(), table.format(), table.schemaString(),
        table.partitionColumns(), ScalaInterop.map(entries), table.createdTime());
  }
}
