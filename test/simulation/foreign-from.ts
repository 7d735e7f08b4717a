/** Says from which seed on runs have foreign faults. The seeds below it once broke promises, and stay the runs that they were. */

export const FOREIGN_FROM = 900_000_000;
