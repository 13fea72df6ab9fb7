/**
 * Versioned files that agents and tools save. Every store passes test/contract/artifact-store.ts.
 * A name that starts with `user:` belongs to the user, any other name to the session.
 */
import type { BlobPart, TextContentPart } from './content.ts';
import type { SessionKey } from './session.ts';

/** The content of an artifact: text, or bytes in base64. */
export type ArtifactContent = TextContentPart | BlobPart;

/**
 * Keeps artifacts: `memoryArtifacts()`, or `sqliteArtifacts(path)` of `parley-a2a/agent/sqlite`.
 *
 *   const version = await store.save(key, 'plan.md', { kind: 'text', text: '# Plan' });
 *   const latest = await store.load(key, 'plan.md');
 */
export interface ArtifactStore {
  /** Stores a new version and returns its number; the first is 0. */
  save(key: SessionKey, name: string, content: ArtifactContent): Promise<number>;
  /** Returns the latest version by default. */
  load(key: SessionKey, name: string, version?: number): Promise<ArtifactContent | undefined>;
  /** The session's names, then the user's, each sorted. */
  list(key: SessionKey): Promise<readonly string[]>;
  versions(key: SessionKey, name: string): Promise<readonly number[]>;
  /** Deletes all versions. Returns whether there was one. */
  delete(key: SessionKey, name: string): Promise<boolean>;
  close(): Promise<void>;
}

/** The artifacts of one session, for an agent or a tool. A saved version appears in the event's artifact delta. */
export interface Artifacts {
  save(name: string, content: ArtifactContent): Promise<number>;
  load(name: string, version?: number): Promise<ArtifactContent | undefined>;
  list(): Promise<readonly string[]>;
}
