/** Draws lines that are already wrapped, in the colours of the theme. */
import { Text } from 'ink';
import type { StyledLine } from '../../display/index.ts';
import type { Theme } from '../text/theme.ts';

export function Lines({ lines, theme }: { lines: readonly StyledLine[]; theme: Theme }) {
  if (lines.length === 0) return null;
  // Ink gives an empty line no height, so a space replaces it.
  const painted = lines.map((each) => theme.paint(each) || ' ');
  return <Text wrap="truncate">{painted.join('\n')}</Text>;
}
