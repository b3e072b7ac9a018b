from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetInfoResponse(_message.Message):
    __slots__ = ("name", "version", "description", "capabilities")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    description: str
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., description: _Optional[str] = ..., capabilities: _Optional[_Iterable[str]] = ...) -> None: ...

class InitRequest(_message.Message):
    __slots__ = ("config",)
    class ConfigEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    config: _containers.ScalarMap[str, bytes]
    def __init__(self, config: _Optional[_Mapping[str, bytes]] = ...) -> None: ...

class InitResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ShutdownRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ShutdownResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class InputSchema(_message.Message):
    __slots__ = ("name", "type", "required", "default", "description", "validation", "enum", "items", "properties")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    VALIDATION_FIELD_NUMBER: _ClassVar[int]
    ENUM_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    required: bool
    default: str
    description: str
    validation: str
    enum: _containers.RepeatedScalarFieldContainer[str]
    items: str
    properties: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., required: _Optional[bool] = ..., default: _Optional[str] = ..., description: _Optional[str] = ..., validation: _Optional[str] = ..., enum: _Optional[_Iterable[str]] = ..., items: _Optional[str] = ..., properties: _Optional[str] = ...) -> None: ...

class OutputSchema(_message.Message):
    __slots__ = ("name", "type", "description")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    description: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class OperationSchema(_message.Message):
    __slots__ = ("name", "description", "inputs", "outputs", "read_only")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    inputs: _containers.RepeatedCompositeFieldContainer[InputSchema]
    outputs: _containers.RepeatedCompositeFieldContainer[OutputSchema]
    read_only: bool
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[InputSchema, _Mapping]]] = ..., outputs: _Optional[_Iterable[_Union[OutputSchema, _Mapping]]] = ..., read_only: _Optional[bool] = ...) -> None: ...

class ListOperationsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListOperationsResponse(_message.Message):
    __slots__ = ("operations",)
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    operations: _containers.RepeatedCompositeFieldContainer[OperationSchema]
    def __init__(self, operations: _Optional[_Iterable[_Union[OperationSchema, _Mapping]]] = ...) -> None: ...

class GetOperationRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class GetOperationResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: OperationSchema
    def __init__(self, operation: _Optional[_Union[OperationSchema, _Mapping]] = ...) -> None: ...

class ExecuteRequest(_message.Message):
    __slots__ = ("operation", "inputs")
    class InputsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    operation: str
    inputs: _containers.ScalarMap[str, bytes]
    def __init__(self, operation: _Optional[str] = ..., inputs: _Optional[_Mapping[str, bytes]] = ...) -> None: ...

class ExecuteResponse(_message.Message):
    __slots__ = ("success", "output", "data", "error")
    class DataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    success: bool
    output: str
    data: _containers.ScalarMap[str, bytes]
    error: str
    def __init__(self, success: _Optional[bool] = ..., output: _Optional[str] = ..., data: _Optional[_Mapping[str, bytes]] = ..., error: _Optional[str] = ...) -> None: ...

class ValidateWorkflowRequest(_message.Message):
    __slots__ = ("workflow_json",)
    WORKFLOW_JSON_FIELD_NUMBER: _ClassVar[int]
    workflow_json: bytes
    def __init__(self, workflow_json: _Optional[bytes] = ...) -> None: ...

class ValidateStepRequest(_message.Message):
    __slots__ = ("workflow_json", "step_name")
    WORKFLOW_JSON_FIELD_NUMBER: _ClassVar[int]
    STEP_NAME_FIELD_NUMBER: _ClassVar[int]
    workflow_json: bytes
    step_name: str
    def __init__(self, workflow_json: _Optional[bytes] = ..., step_name: _Optional[str] = ...) -> None: ...

class ValidationIssue(_message.Message):
    __slots__ = ("severity", "message", "step", "field")
    class Severity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SEVERITY_UNSPECIFIED: _ClassVar[ValidationIssue.Severity]
        WARNING: _ClassVar[ValidationIssue.Severity]
        ERROR: _ClassVar[ValidationIssue.Severity]
    SEVERITY_UNSPECIFIED: ValidationIssue.Severity
    WARNING: ValidationIssue.Severity
    ERROR: ValidationIssue.Severity
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    severity: ValidationIssue.Severity
    message: str
    step: str
    field: str
    def __init__(self, severity: _Optional[_Union[ValidationIssue.Severity, str]] = ..., message: _Optional[str] = ..., step: _Optional[str] = ..., field: _Optional[str] = ...) -> None: ...

class ValidateResponse(_message.Message):
    __slots__ = ("issues",)
    ISSUES_FIELD_NUMBER: _ClassVar[int]
    issues: _containers.RepeatedCompositeFieldContainer[ValidationIssue]
    def __init__(self, issues: _Optional[_Iterable[_Union[ValidationIssue, _Mapping]]] = ...) -> None: ...

class ListStepTypesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StepType(_message.Message):
    __slots__ = ("name", "description")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class ListStepTypesResponse(_message.Message):
    __slots__ = ("step_types",)
    STEP_TYPES_FIELD_NUMBER: _ClassVar[int]
    step_types: _containers.RepeatedCompositeFieldContainer[StepType]
    def __init__(self, step_types: _Optional[_Iterable[_Union[StepType, _Mapping]]] = ...) -> None: ...

class ExecuteStepRequest(_message.Message):
    __slots__ = ("step_name", "step_type", "config", "inputs")
    STEP_NAME_FIELD_NUMBER: _ClassVar[int]
    STEP_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    step_name: str
    step_type: str
    config: bytes
    inputs: bytes
    def __init__(self, step_name: _Optional[str] = ..., step_type: _Optional[str] = ..., config: _Optional[bytes] = ..., inputs: _Optional[bytes] = ...) -> None: ...

class ExecuteStepResponse(_message.Message):
    __slots__ = ("output", "data", "exit_code")
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    output: str
    data: bytes
    exit_code: int
    def __init__(self, output: _Optional[str] = ..., data: _Optional[bytes] = ..., exit_code: _Optional[int] = ...) -> None: ...

class HandleEventRequest(_message.Message):
    __slots__ = ("id", "type", "timestamp_unix_nanos", "source", "metadata", "payload", "propagation_depth")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_UNIX_NANOS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PROPAGATION_DEPTH_FIELD_NUMBER: _ClassVar[int]
    id: str
    type: str
    timestamp_unix_nanos: int
    source: str
    metadata: _containers.ScalarMap[str, str]
    payload: bytes
    propagation_depth: int
    def __init__(self, id: _Optional[str] = ..., type: _Optional[str] = ..., timestamp_unix_nanos: _Optional[int] = ..., source: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ..., payload: _Optional[bytes] = ..., propagation_depth: _Optional[int] = ...) -> None: ...

class EmittedEvent(_message.Message):
    __slots__ = ("type", "payload")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    type: str
    payload: bytes
    def __init__(self, type: _Optional[str] = ..., payload: _Optional[bytes] = ...) -> None: ...

class HandleEventResponse(_message.Message):
    __slots__ = ("emitted_events",)
    EMITTED_EVENTS_FIELD_NUMBER: _ClassVar[int]
    emitted_events: _containers.RepeatedCompositeFieldContainer[EmittedEvent]
    def __init__(self, emitted_events: _Optional[_Iterable[_Union[EmittedEvent, _Mapping]]] = ...) -> None: ...
