/** What an answer said, where the record still has it, and what it decided about each call. */
import type { FC } from 'hono/jsx';
import type { ContinuationView } from '../../reading.ts';
import type { Answer, CallVerdict, ResumeTrigger } from '../../schema.ts';
import { Prose, Verbatim, Words } from './text.tsx';

export const Said: FC<{ answer: Answer; view: ContinuationView }> = ({ answer, view }) => {
  const trigger = answer.input && 'trigger' in answer.input ? answer.input.trigger : undefined;
  const nameOf = (id: string): string => view.suspension.pending.find((call) => call.id === id)?.name ?? id;
  const verdicts = answer.calls ?? [];
  return (
    <>
      {trigger && <Content trigger={trigger} />}
      {verdicts.length > 0 && (
        <ul class="verdicts">
          {verdicts.map(({ id, decision, editedDigest }) => (
            <li>
              <Words text={nameOf(id)} />: {VERDICTS[decision]}
              {editedDigest && ', with other arguments'}
            </li>
          ))}
        </ul>
      )}
    </>
  );
};

const VERDICTS: Readonly<Record<CallVerdict['decision'], string>> = {
  approved: 'approved',
  denied: 'denied',
  result: 'has a result',
  error: 'went wrong',
  execute: 'given back to the agent',
};

const Content: FC<{ trigger: ResumeTrigger }> = ({ trigger }) => {
  if (trigger.type === 'user_reply') return <Prose text={trigger.message.text} />;
  if (trigger.type === 'approval_resolution') return trigger.reason ? <Prose text={trigger.reason} /> : null;
  const value =
    trigger.type === 'external_result' ? trigger.payload : 'content' in trigger ? trigger.content : undefined;
  if (value === undefined) return null;
  return typeof value === 'string' ? <Prose text={value} /> : <Verbatim text={JSON.stringify(value, null, 2)} />;
};
