/** The text of an answer: all at once, or as it comes. Between what two artifacts say there is an empty line. */
import { textOf, type Artifact, type SendResult, type StreamEvent } from '../protocol/index.ts';

/** A message's text; a task's artifacts' text or, where they have none, what its status says. */
export function answerText(answer: SendResult | undefined): string {
  if (answer === undefined) return '';
  if (answer.kind === 'message') return textOf(answer.parts);
  const texts = (answer.artifacts ?? []).map(({ parts }) => textOf(parts));
  const text = texts.filter((each) => each !== '').join(BETWEEN);
  return text === '' && answer.status.message ? textOf(answer.status.message.parts) : text;
}

const BETWEEN = '\n\n';

/**
 * What each event adds to the text that was already given out. A snapshot, which a stream that was taken up again may
 * begin with, holds everything once more: only what is new in it counts.
 */
export function createTextTracker(): (event: StreamEvent) => string {
  const given = new Map<string, string>();
  let speaking: string | undefined;

  /** What is said next, apart from what another artifact said before it. */
  function said(artifactId: string, text: string): string {
    if (text === '' || speaking === artifactId) return text;
    const first = speaking === undefined;
    speaking = artifactId;
    return first ? text : BETWEEN + text;
  }

  function whole(artifact: Artifact): string {
    const text = textOf(artifact.parts);
    const before = given.get(artifact.artifactId) ?? '';
    given.set(artifact.artifactId, text);
    return said(artifact.artifactId, text.startsWith(before) ? text.slice(before.length) : text);
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
    return said(artifactId, text);
  };
}
