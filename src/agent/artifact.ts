/**
 * Versioned files that agents and tools save. Every store must pass the tests in test/contract/artifact-store.ts. An
 * artifact whose name starts with `user:` belongs to the user. Any other artifact belongs to the session.
 */
import type { BlobPart, TextContentPart } from './content.ts';
import type { SessionKey } from './session.ts';

/** The content of an artifact: text, or bytes in base64. */
export type ArtifactContent = TextContentPart | BlobPart;

/**
 * A store for artifacts. Create one with `memoryArtifacts()`, with `sqliteArtifacts(path)` from
 * `parley-a2a/agent/sqlite`, or with `postgresArtifacts(url)` from `parley-a2a/agent/postgres`.
 *
 *   const version = await store.save(key, 'plan.md', { kind: 'text', text: '# Plan' });
 *   const latest = await store.load(key, 'plan.md');
 */
export interface ArtifactStore {
  /** Stores a new version and returns its number. The first version has the number 0. */
  save(key: SessionKey, name: string, content: ArtifactContent): Promise<number>;
  /** Returns a version of the artifact (by default the latest), or undefined if it does not exist. */
  load(key: SessionKey, name: string, version?: number): Promise<ArtifactContent | undefined>;
  /**
   * Returns the names of the session's artifacts, followed by those of the user's artifacts. Both groups are sorted.
   */
  list(key: SessionKey): Promise<readonly string[]>;
  versions(key: SessionKey, name: string): Promise<readonly number[]>;
  /** Deletes all versions of the artifact. Returns whether the artifact existed. */
  delete(key: SessionKey, name: string): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * The artifacts of one session, for an agent or a tool. The next complete event lists the saved artifacts with their
 * latest versions (`artifactDelta`).
 */
export interface Artifacts {
  save(name: string, content: ArtifactContent): Promise<number>;
  load(name: string, version?: number): Promise<ArtifactContent | undefined>;
  list(): Promise<readonly string[]>;
}
