/** Extracts the text of a result, complete or as it arrives. An empty line separates the texts of two artifacts. */
import { textOf, type Artifact, type SendResult, type StreamEvent } from '../protocol/index.ts';

/**
 * Returns the text of a message or of a task's artifacts. If the artifacts have no text, returns the text of the task's
 * status.
 */
export function answerText(answer: SendResult | undefined): string {
  if (answer === undefined) return '';
  if (answer.kind === 'message') return textOf(answer.parts);
  const texts = (answer.artifacts ?? []).map(({ parts }) => textOf(parts));
  const text = texts.filter((each) => each !== '').join(SEPARATOR);
  return text === '' && answer.status.message ? textOf(answer.status.message.parts) : text;
}

const SEPARATOR = '\n\n';

/**
 * Makes a function that returns the text that each event adds. A resumed stream may start with a snapshot, which
 * repeats earlier text. Then only the new text is returned.
 */
export function createTextTracker(): (event: StreamEvent) => string {
  const given = new Map<string, string>();
  let current: string | undefined;

  /** Adds the separator if the previous text belongs to another artifact. */
  function separated(artifactId: string, text: string): string {
    if (text === '' || current === artifactId) return text;
    const first = current === undefined;
    current = artifactId;
    return first ? text : SEPARATOR + text;
  }

  function whole(artifact: Artifact): string {
    const text = textOf(artifact.parts);
    const before = given.get(artifact.artifactId) ?? '';
    given.set(artifact.artifactId, text);
    return separated(
      artifact.artifactId,
      text.startsWith(before) ? text.slice(before.length) : text,
    );
  }

  return (event) => {
    if (event.kind === 'message') return textOf(event.parts);
    if (event.kind === 'task') {
      let text = '';
      for (const artifact of event.artifacts ?? []) text += whole(artifact);
      return text;
    }
    if (event.kind !== 'artifact-update') return '';
    if (event.append !== true) return whole(event.artifact);
    const { artifactId } = event.artifact;
    const text = textOf(event.artifact.parts);
    given.set(artifactId, (given.get(artifactId) ?? '') + text);
    return separated(artifactId, text);
  };
}
