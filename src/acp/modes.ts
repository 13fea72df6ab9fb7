/** The modes of a session: what is asked before it is done. The command /approval sets them, for everybody. */
import type { SessionMode, SessionModeState } from '@agentclientprotocol/sdk';

const MODES: readonly SessionMode[] = [
  { id: 'ask', name: 'Ask', description: 'Every change is asked about' },
  { id: 'auto-edit', name: 'Auto-edit', description: 'Files are edited without asking' },
  { id: 'plan', name: 'Plan', description: 'Nothing is changed or run' },
  { id: 'yolo', name: 'Yolo', description: 'Nothing is asked' },
];

export function modeState(currentModeId: string): SessionModeState {
  return { currentModeId, availableModes: [...MODES] };
}

export function isMode(id: string): boolean {
  return MODES.some((mode) => mode.id === id);
}

export function commandFor(mode: string): string {
  return `/approval ${mode}`;
}

/** The mode that somebody's words set, once the turn that they begin has gone well. */
export function modeIn(text: string): string | undefined {
  const [, mode = ''] = /^\/approval\s+(\S+)\s*$/.exec(text) ?? [];
  return isMode(mode) ? mode : undefined;
}
