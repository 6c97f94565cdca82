/** `doctor`: what is wrong with the servers, and what to do about it. */
import { diagnose } from '../diagnosis.ts';
import { type CliCommand, defineCliCommand } from './command.ts';
import { EXIT, printJson } from './outcome.ts';
import { plain } from './text.ts';

const MARKS = { ok: 'ok     ', warning: 'warning', fault: 'FAULT  ' } as const;

export const doctor: CliCommand = defineCliCommand('doctor', {
  description: 'Find what is wrong with the servers and say what to do; changes nothing. Exit code 1 on a fault.',
  args: {},
  examples: ['doctor', 'doctor --json'],
  async run(_, { target, io, report }) {
    const findings = await diagnose(target);
    if (report.json) printJson({ findings }, io);
    else for (const { level, check, message } of findings) io.out(`${MARKS[level]}  ${check}: ${plain(message)}`);
    return findings.some(({ level }) => level === 'fault') ? EXIT.failed : EXIT.done;
  },
});
