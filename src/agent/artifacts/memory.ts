/**
 * Keeps artifacts in memory. An artifact that does not fit is refused. The store never removes other artifacts to
 * make room.
 */
import type { ArtifactContent, ArtifactStore } from '../artifact.ts';
import { deepFreeze } from '../sessions/prepare.ts';
import { StorageError } from '../storage-error.ts';
import type { SessionKey } from '../session.ts';
import {
  checkArtifact,
  checkArtifactKey,
  isUsers,
  MAX_VERSIONS,
  tooManyVersions,
} from './rules.ts';

/** The limit of `memoryArtifacts`. */
export interface MemoryArtifactsOptions {
  /** Maximum total size of all versions of all artifacts, in characters. Default: 256 Mi. */
  readonly maxSize?: number;
}

/**
 * Returns a store that keeps artifacts in the memory of this process.
 *
 *   const runner = createRunner({ agent, artifacts: memoryArtifacts() });
 */
export function memoryArtifacts(options: MemoryArtifactsOptions = {}): ArtifactStore {
  const maxSize = options.maxSize ?? 2 ** 28;
  /**
   * The versions of all artifacts. The outer key identifies the session, or the user if the artifact belongs to the
   * user (`folderKey`). The inner key is the name of the artifact.
   */
  const folders = new Map<string, Map<string, Version[]>>();
  let total = 0;
  let closed = false;

  function folder(key: SessionKey, name: string): Map<string, Version[]> | undefined {
    if (closed) throw new StorageError('closed', 'the artifact store is closed');
    checkArtifactKey(key, name);
    return folders.get(folderKey(key, name));
  }

  return {
    async save(key, name, content) {
      const found = folder(key, name);
      const { provider, size } = checkArtifact(content);
      const versions = found?.get(name) ?? [];
      if (versions.length >= MAX_VERSIONS) throw tooManyVersions();
      if (total + size > maxSize) {
        throw new StorageError(
          'full',
          'the artifact store is full: delete some artifacts, or use sqliteArtifacts',
        );
      }
      const copy = {
        ...content,
        ...(provider !== undefined && { provider: JSON.parse(provider) }),
      };
      versions.push({ content: deepFreeze(copy), size });
      total += size;
      const place = found ?? new Map<string, Version[]>();
      folders.set(folderKey(key, name), place);
      place.set(name, versions);
      return versions.length - 1;
    },
    async load(key, name, version) {
      const versions = folder(key, name)?.get(name);
      return versions?.[version ?? versions.length - 1]?.content;
    },
    async list(key) {
      const own = folder(key, 'any')?.keys() ?? [];
      const users = folders.get(folderKey(key, 'user:any'))?.keys() ?? [];
      return [...[...own].toSorted(), ...[...users].toSorted()];
    },
    async versions(key, name) {
      return (folder(key, name)?.get(name) ?? []).map((_, version) => version);
    },
    async delete(key, name) {
      const place = folder(key, name);
      const versions = place?.get(name);
      if (!place || !versions) return false;
      for (const { size } of versions) total -= size;
      place.delete(name);
      if (place.size === 0) folders.delete(folderKey(key, name));
      return true;
    },
    async close() {
      closed = true;
      folders.clear();
    },
  };
}

interface Version {
  readonly content: ArtifactContent;
  readonly size: number;
}

function folderKey({ app, user, id }: SessionKey, name: string): string {
  return JSON.stringify(isUsers(name) ? [app, user] : [app, user, id]);
}
