/**
 * Files that agents and tools leave behind, in versions. One interface, held by test/contract/artifact-store.ts.
 * A name that begins with `user:` belongs to the user, any other to the session.
 */
import type { BlobPart, TextContentPart } from './content.ts';
import type { SessionKey } from './session.ts';

export type ArtifactContent = TextContentPart | BlobPart;

export interface ArtifactStore {
  /** Stores a new version and returns its number; the first is 0. */
  save(key: SessionKey, name: string, content: ArtifactContent): Promise<number>;
  /** The latest version unless one is named. */
  load(key: SessionKey, name: string, version?: number): Promise<ArtifactContent | undefined>;
  /** Names, in order: the session's, and the user's. */
  list(key: SessionKey): Promise<readonly string[]>;
  versions(key: SessionKey, name: string): Promise<readonly number[]>;
  /** All versions. True when there was one. */
  delete(key: SessionKey, name: string): Promise<boolean>;
  close(): Promise<void>;
}

/** A store as an agent or a tool sees it: its own session's. What is saved is in the event's artifact delta. */
export interface Artifacts {
  save(name: string, content: ArtifactContent): Promise<number>;
  load(name: string, version?: number): Promise<ArtifactContent | undefined>;
  list(): Promise<readonly string[]>;
}
