/**
 * The artifacts of a remote task that are already in our log. A snapshot of the remote task is compared with them.
 *
 * Servers may split or join text chunks in any way, so consecutive plain texts are treated as one text. The texts are
 * joined only for a comparison, which is rare. Until then, the parts of each chunk are kept in a list.
 */
import type { Artifact, Part, TextPart } from '../../protocol/index.ts';
import { sameJson, type ArtifactEvent } from '../../tasks/index.ts';

export class KnownArtifacts {
  readonly #artifacts = new Map<string, Artifact>();

  constructor(artifacts: readonly Artifact[] = []) {
    for (const artifact of artifacts) this.add(artifact, false);
  }

  get size(): number {
    return this.#artifacts.size;
  }

  has(artifactId: string): boolean {
    return this.#artifacts.has(artifactId);
  }

  /** Records an artifact, or a chunk of an artifact, that is now in our log. */
  add(artifact: Artifact, append: boolean): void {
    const known = append ? this.#artifacts.get(artifact.artifactId) : undefined;
    if (!known) {
      this.#artifacts.set(artifact.artifactId, { ...artifact, parts: [...artifact.parts] });
      return;
    }
    for (const part of artifact.parts) known.parts.push(part);
    if (!hasMore(artifact)) return;
    const { parts: _, metadata, ...rest } = artifact;
    Object.assign(known, rest);
    if (metadata) known.metadata = { ...known.metadata, ...metadata };
  }

  /**
   * Returns the event that brings our log up to date with the remote artifact, and records this event. Returns
   * undefined if there are no changes, or if the remote artifact is new and has no parts.
   */
  update(artifact: Artifact): ArtifactEvent | undefined {
    const known = this.#artifacts.get(artifact.artifactId);
    if (!known && artifact.parts.length === 0) return undefined;
    if (known) known.parts = joined(known.parts);
    const event = known ? difference(known, artifact) : replacement(artifact);
    if (event) this.add(event.artifact, event.append === true);
    return event;
  }
}

/**
 * Returns an event with the whole artifact. Our log accepts no artifact without parts, so such an artifact gets an
 * empty text.
 */
function replacement(artifact: Artifact): ArtifactEvent {
  if (artifact.parts.length > 0) return { kind: 'artifact-update', artifact };
  return {
    kind: 'artifact-update',
    artifact: { ...artifact, parts: [{ kind: 'text', text: '' }] },
  };
}

/** Returns the event that changes `ours` to `theirs`, or undefined if there are no changes. */
function difference(ours: Artifact, theirs: Artifact): ArtifactEvent | undefined {
  const missing = partsAfter(ours.parts, joined(theirs.parts));
  if (!missing) return replacement(theirs);
  if (missing.length > 0) {
    return { kind: 'artifact-update', artifact: { ...theirs, parts: missing }, append: true };
  }
  const { parts: _ours, ...head } = ours;
  const { parts: _theirs, ...newHead } = theirs;
  return sameJson(head, newHead) ? undefined : replacement(theirs);
}

/** Returns the parts of `all` after `known`, or undefined if `all` does not start with `known`. */
function partsAfter(known: readonly Part[], all: readonly Part[]): Part[] | undefined {
  if (known.length > all.length) return undefined;
  const last = known.length - 1;
  for (const [at, part] of known.entries()) {
    const other = all[at]!;
    if (at === last && isPlain(part) && isPlain(other)) {
      if (!other.text.startsWith(part.text)) return undefined;
      const text = other.text.slice(part.text.length);
      const rest = all.slice(known.length);
      return text === '' ? rest : [{ kind: 'text', text }, ...rest];
    }
    if (!sameJson(part, other)) return undefined;
  }
  return all.slice(known.length);
}

/** Joins consecutive plain texts, and leaves out empty plain texts. */
function joined(parts: readonly Part[]): Part[] {
  const out: Part[] = [];
  for (const part of parts) push(out, part);
  return out;
}

function push(parts: Part[], part: Part): void {
  const last = parts.at(-1);
  if (!isPlain(part)) parts.push(part);
  // Plain texts in this list are copies, so they may be changed.
  else if (last && isPlain(last)) last.text += part.text;
  else if (part.text !== '') parts.push({ kind: 'text', text: part.text });
}

/** Returns whether the chunk has fields other than `artifactId` and `parts`. Most text chunks do not have any. */
function hasMore(artifact: Artifact): boolean {
  for (const name in artifact) if (name !== 'artifactId' && name !== 'parts') return true;
  return false;
}

/** Returns whether the part has only a text, without metadata or other fields. */
function isPlain(part: Part): part is TextPart {
  if (part.kind !== 'text') return false;
  for (const name in part) if (name !== 'kind' && name !== 'text') return false;
  return true;
}
