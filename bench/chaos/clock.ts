/** The clock that all processes of a machine share and that nothing sets, milliseconds. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
