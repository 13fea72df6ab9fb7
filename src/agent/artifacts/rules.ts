/** The checks that every artifact store makes before it stores anything. */
import type { ArtifactContent } from '../artifact.ts';
import type { SessionKey } from '../session.ts';
import { checkId, checkKey, StorageError, toJson } from '../storage-error.ts';

/** Maximum size of an artifact in characters: its text or base64, plus the JSON of its vendor data. */
export const MAX_ARTIFACT_SIZE = 64 * 2 ** 20;
export const MAX_VERSIONS = 10_000;

export function tooManyVersions(): StorageError {
  return new StorageError('full', `the artifact has ${MAX_VERSIONS} versions: use a new name`);
}

/** Returns whether the artifact belongs to the user and not to the session. */
export function isUsers(name: string): boolean {
  return name.startsWith('user:');
}

export function checkArtifactKey(key: SessionKey, name: string): void {
  checkKey(key);
  checkId("artifact's name", name);
}

/** Checks the content. Returns its size, and its vendor data as JSON. */
export function checkArtifact(content: ArtifactContent): {
  readonly size: number;
  readonly provider?: string;
} {
  const body = content.kind === 'text' ? content.text : content.data;
  if (typeof body !== 'string') {
    throw new StorageError('invalid', 'the artifact is neither text nor bytes in base64');
  }
  const provider =
    content.provider === undefined ? undefined : toJson('artifact', content.provider);
  const size = body.length + (provider?.length ?? 0);
  if (size > MAX_ARTIFACT_SIZE) {
    throw new StorageError('full', `the artifact is larger than ${MAX_ARTIFACT_SIZE} characters`);
  }
  return { size, ...(provider !== undefined && { provider }) };
}
