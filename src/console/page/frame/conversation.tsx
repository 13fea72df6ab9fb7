/** The page on which a person talks to the agent. */
import { useEffect } from 'preact/hooks';
import { PageApp, screen, start } from '../session/app.tsx';
import { leave } from '../server/sign-in.ts';

export function ConversationPage() {
  const shown = screen.value;
  useEffect(() => void start(), []);
  useEffect(() => {
    if (shown.kind === 'token') leave(shown.why);
  }, [shown]);
  return <PageApp />;
}
