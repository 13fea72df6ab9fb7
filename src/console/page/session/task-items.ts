/**
 * Converts a task of an agent to a session that only this page has joined. An agent without the development-tool
 * extension answers with artifacts. Here, each addition to an artifact becomes a message of the agent.
 */
import { createTextTracker } from '../../../client/index.ts';
import type { LiveClient, LiveItem } from '../../../live/client/index.ts';
import {
  ARTIFACT_NAME_KEY,
  isCoderAgentOutput,
  waitingCallsIn,
} from '../../../protocol/development-tool/index.ts';
import type { Artifact, Message, Part, StreamEvent, Task } from '../../../protocol/index.ts';

/** Names that say nothing about the content of an artifact. Such names are not shown. */
const USUAL_NAMES: ReadonlySet<string> = new Set(['answer', 'response', 'output', 'result']);

export class TaskItems {
  readonly #self: LiveClient;
  /** The name of the agent. */
  readonly #name: string;
  #added = createTextTracker();
  /** The ids of the artifacts of which some text has been shown. */
  #begun = new Set<string>();
  /** The files and data that have been shown, by artifact id. */
  #shown = new Map<string, readonly Part[]>();

  constructor(self: LiveClient, name: string) {
    this.#self = self;
    this.#name = name;
  }

  /** Returns the item that shows the whole task. */
  snapshot(task: Task, seq: number): LiveItem {
    return {
      kind: 'snapshot',
      snapshot: {
        taskId: task.id,
        contextId: task.contextId,
        task,
        pending: waitingCallsIn(task),
        approval: '',
        model: '',
        workspace: this.#name,
        clients: [this.#self],
        seq,
      },
    };
  }

  /** Forgets what has been shown. Called before each stream, because a stream starts with the whole task. */
  restart(): void {
    this.#added = createTextTracker();
    this.#begun = new Set();
    this.#shown = new Map();
  }

  /**
   * Returns a message with the content that the event adds to the artifacts, or undefined if there is nothing to show.
   */
  addedBy(event: StreamEvent, id: string): Message | undefined {
    const text = this.#added(event);
    const artifact = event.kind === 'artifact-update' ? event.artifact : undefined;
    const append = event.kind === 'artifact-update' && event.append === true;
    const known = event.kind === 'task' ? (event.artifacts ?? []) : [];
    const changed = artifact ? [artifact] : known;
    const others = changed.flatMap((each) => this.#othersOf(each, append));
    const parts: Part[] = [...(text === '' ? [] : [this.#textPart(text, artifact)]), ...others];
    return parts.length === 0
      ? undefined
      : { kind: 'message', messageId: id, role: 'agent', parts };
  }

  #textPart(text: string, artifact: Artifact | undefined): Part {
    const isFirst = artifact !== undefined && !this.#begun.has(artifact.artifactId);
    if (artifact) this.#begun.add(artifact.artifactId);
    const name = isFirst ? nameOf(artifact) : undefined;
    return named({ kind: 'text', text }, name);
  }

  /** Returns the files and the data of an artifact that have not been shown. */
  #othersOf(artifact: Artifact, append: boolean): Part[] {
    const { artifactId, parts } = artifact;
    if (isCoderAgentOutput(artifactId)) return [];
    const others = parts.filter(({ kind }) => kind !== 'text');
    const before = this.#shown.get(artifactId) ?? [];
    this.#shown.set(artifactId, append ? [...before, ...others] : others);
    const name = nameOf(artifact);
    // If the whole artifact is sent again, it also contains the parts that have already been shown.
    const isNew = (part: Part, at: number) =>
      append || !before[at] || JSON.stringify(before[at]) !== JSON.stringify(part);
    return others.filter(isNew).map((part) => named(part, name));
  }
}

function named(part: Part, name: string | undefined): Part {
  return name === undefined ? part : { ...part, metadata: { [ARTIFACT_NAME_KEY]: name } };
}

function nameOf({ name }: Artifact): string | undefined {
  return name === undefined || name === '' || USUAL_NAMES.has(name) ? undefined : name;
}
