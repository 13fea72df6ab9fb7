/** A button that shows more of the earlier events in a list of the newest events. */
import type { Signal } from '@preact/signals';
import { PageButton } from './controls.tsx';

interface Props {
  /** Maximum number of events that are drawn. */
  readonly shown: Signal<number>;
  /** Number of earlier events that are not drawn. */
  readonly left: number;
  /** Maximum number of events that the button adds. */
  readonly step: number;
}

export function EarlierEvents({ shown, left, step }: Props) {
  if (left === 0) return null;
  return (
    <PageButton class="more" onClick={() => (shown.value += step)}>
      Show {Math.min(left, step)} earlier events ({left} left)
    </PageButton>
  );
}
